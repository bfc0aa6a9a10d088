"""A mail server on a free port: prints its port, then each mail as a line of JSON.

server.py [--starttls CERT KEY] [--refuse] [--user NAME PASSWORD]
"""

import argparse
import asyncio
import json
import ssl

from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

parser = argparse.ArgumentParser()
parser.add_argument("--starttls", nargs=2, metavar=("CERT", "KEY"))
parser.add_argument("--refuse", action="store_true", help="refuse each mail for good")
parser.add_argument("--user", nargs=2, metavar=("NAME", "PASSWORD"))
given = parser.parse_args()


class Handler:
    async def handle_DATA(self, _server, session, envelope):
        if given.refuse:
            return "550 no such mailbox"
        mail = {
            "from": envelope.mail_from,
            "to": envelope.rcpt_tos,
            "text": envelope.content.decode(),
            "tls": session.ssl is not None,
            "user": session.authenticated,
        }
        print(json.dumps(mail), flush=True)
        return "250 taken"


def authenticated(_server, _session, _envelope, _mechanism, data):
    wanted = LoginPassword(*(part.encode() for part in given.user))
    return AuthResult(success=data == wanted)


def connection():
    options = {"hostname": "mail.test"}
    if given.starttls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*given.starttls)
        options |= {"tls_context": context, "require_starttls": True}
    if given.user:
        options |= {"authenticator": authenticated, "auth_required": True}
    return SMTP(Handler(), **options)


async def main():
    server = await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
