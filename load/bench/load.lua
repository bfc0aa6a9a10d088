-- Requests a file of paths in turn, each request made beforehand: wrk ... -s load.lua URL -- FILE SKIP
-- Prints the outcome as one line of JSON.

local requests, count, position = {}, 0, 0

function init(args)
  local known = {}
  for path in io.lines(args[1]) do
    known[path] = known[path] or wrk.format("GET", path)
    count = count + 1
    requests[count] = known[path]
  end
  position = tonumber(args[2]) % count
end

function request()
  position = position + 1
  if position > count then
    position = 1
  end
  return requests[position]
end

function done(summary, latency)
  local errors = summary.errors
  local form = 'JSON {"answered":%d,"seconds":%.6f,"p50":%d,"p99":%d,"max":%d,"refused":%d,"broken":%d}\n'
  io.write(string.format(form, summary.requests, summary.duration / 1e6, latency:percentile(50),
    latency:percentile(99), latency.max, errors.status, errors.connect + errors.read + errors.write
    + errors.timeout))
end
