-- The table `wrk` that every script sees: the parts of a request, and wrk.format, which makes one.
-- The host program has already set wrk.scheme, host, port, path, headers, lookup and connect.

local wrk = wrk

wrk.method = "GET"
wrk.body = nil

-- Returns the value of the header Host, whatever its case; nil if there is none.
local function host_of(headers)
  for name, value in pairs(headers) do
    if string.lower(name) == "host" then
      return value
    end
  end
end

function wrk.format(method, path, headers, body)
  method = method or wrk.method
  path = path or wrk.path
  headers = headers or wrk.headers
  body = body or wrk.body

  local lines = { method .. " " .. path .. " HTTP/1.1" }
  local host_given = false
  for name, value in pairs(headers) do
    local lower = string.lower(name)
    -- A second Host would make the request malformed (RFC 9112, section 3.2).
    local repeated = lower == "host" and host_given
    host_given = host_given or lower == "host"
    if lower ~= "content-length" and not repeated then
      lines[#lines + 1] = name .. ": " .. tostring(value)
    end
  end
  local host = not host_given and host_of(wrk.headers)
  if host then
    lines[#lines + 1] = "Host: " .. host
  end
  if body then
    lines[#lines + 1] = "Content-Length: " .. #body
  end
  lines[#lines + 1] = ""
  lines[#lines + 1] = body or ""
  return table.concat(lines, "\r\n")
end

-- Returns the addresses of the host that accept connections.
function wrk.resolve(host, service)
  local addresses = {}
  for _, address in ipairs(wrk.lookup(host, service)) do
    if wrk.connect(address) then
      addresses[#addresses + 1] = address
    end
  end
  wrk.addrs = addresses
end

function wrk.setup(thread)
  thread.addr = wrk.addrs[1]
  if type(setup) == "function" then
    setup(thread)
  end
end

local in_init = false

-- Sets the defaults of a request, then calls the script's init, which may call this function.
function wrk.init(args)
  if not host_of(wrk.headers) then
    local host = wrk.host
    if string.find(host, ":", 1, true) then
      host = "[" .. host .. "]"
    end
    wrk.headers["Host"] = wrk.port and (host .. ":" .. wrk.port) or host
  end
  if not in_init and type(init) == "function" then
    in_init = true
    init(args)
    in_init = false
  end
end

local function default_request()
  return wrk.format()
end

wrk.request = default_request

-- Returns the script's request function, or nil if all requests are the same.
function wrk.dynamic_request()
  if type(request) == "function" then
    return request
  end
  if wrk.request ~= default_request then
    return wrk.request
  end
  return nil
end
