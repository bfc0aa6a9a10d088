-- Requests a file of paths in turn, each request made beforehand: wrk ... -s load.lua URL -- FILE SKIP [VISITORS]
-- VISITORS is a file of agents and referrers, which are joined to the paths in turn.
-- Prints the outcome as one line of JSON.

local requests, count, position = {}, 0, 0
local headers, visitors, visitor = {}, 0, 0

local function read_visitors(file)
  local known = {}
  for line in io.lines(file) do
    if not known[line] then
      local agent, referrer = line:match("^(.*)\t(.*)$")
      known[line] = "User-Agent: " .. agent .. "\r\n" .. (referrer ~= "" and "Referer: " .. referrer .. "\r\n" or "") .. "\r\n"
    end
    visitors = visitors + 1
    headers[visitors] = known[line]
  end
end

function init(args)
  local known = {}
  if args[3] then
    read_visitors(args[3])
  end
  for path in io.lines(args[1]) do
    local request = known[path] or wrk.format("GET", path)
    if visitors > 0 and not known[path] then
      -- Without the empty line that ends the headers.
      request = request:sub(1, -3)
    end
    known[path] = request
    count = count + 1
    requests[count] = request
  end
  position = tonumber(args[2]) % count
end

function request()
  position = position + 1
  if position > count then
    position = 1
  end
  if visitors == 0 then
    return requests[position]
  end
  visitor = visitor + 1
  if visitor > visitors then
    visitor = 1
  end
  return requests[position] .. headers[visitor]
end

function done(summary, latency)
  local errors = summary.errors
  local form = 'JSON {"answered":%d,"seconds":%.6f,"p50":%d,"p99":%d,"p999":%d,"max":%d,"refused":%d,"broken":%d}\n'
  io.write(string.format(form, summary.requests, summary.duration / 1e6, latency:percentile(50),
    latency:percentile(99), latency:percentile(99.9), latency.max, errors.status, errors.connect + errors.read + errors.write
    + errors.timeout))
end
