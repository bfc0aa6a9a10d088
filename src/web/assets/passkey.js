// Passkeys: a form with options is sent with what a device, a password manager or a telephone answers to them.
"use strict";

{
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (byte) => byte.charCodeAt(0));
  const text = (buffer) =>
    btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const known = (list = []) => list.map((one) => ({ ...one, id: bytes(one.id) }));

  const made = async (options) => {
    const { challenge, user, excludeCredentials } = options;
    const publicKey = {
      ...options,
      challenge: bytes(challenge),
      user: { ...user, id: bytes(user.id) },
      excludeCredentials: known(excludeCredentials),
    };
    const { id, rawId, type, response } = await navigator.credentials.create({ publicKey });
    const { attestationObject, clientDataJSON } = response;
    return {
      id,
      rawId: text(rawId),
      type,
      response: { attestationObject: text(attestationObject), clientDataJSON: text(clientDataJSON) },
    };
  };

  const found = async (options) => {
    const publicKey = { ...options, challenge: bytes(options.challenge), allowCredentials: known(options.allowCredentials) };
    const { id, rawId, type, response } = await navigator.credentials.get({ publicKey });
    const { authenticatorData, clientDataJSON, signature, userHandle } = response;
    return {
      id,
      rawId: text(rawId),
      type,
      response: {
        authenticatorData: text(authenticatorData),
        clientDataJSON: text(clientDataJSON),
        signature: text(signature),
        userHandle: userHandle && text(userHandle),
      },
    };
  };

  const set = (form) => {
    const button = form.querySelector("button");
    const refused = form.querySelector("[data-refused]");
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (button.disabled) return;
      button.disabled = true;
      refused.hidden = true;
      try {
        const options = JSON.parse(form.dataset.options);
        form.elements.answer.value = JSON.stringify(await (form.dataset.passkey === "create" ? made(options) : found(options)));
        form.submit();
      } catch {
        // It was cancelled, took too long, or there is none.
        refused.hidden = false;
        button.disabled = false;
      }
    });
    // A page that comes back from the browser's memory can be used again.
    addEventListener("pageshow", () => (button.disabled = false));
    form.hidden = false;
    for (const instead of document.querySelectorAll("[data-no-passkey]")) instead.hidden = true;
  };
  if (window.PublicKeyCredential) document.querySelectorAll("form[data-passkey]").forEach(set);
}
