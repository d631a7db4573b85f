-- The table `wrk` that every script sees: the parts of a request, and wrk.format, which makes one.
-- The host program has already set wrk.scheme, host, port, path, headers, lookup, connect and time_us. It takes the
-- functions that this file returns.

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
  if body and type(body) ~= "string" and type(body) ~= "number" then
    error("the body of a request must be a string or a number, not a " .. type(body), 2)
  end

  local lines = { method .. " " .. path .. " HTTP/1.1" }
  local host_given = false
  for name, value in pairs(headers) do
    local lower = string.lower(name)
    -- A second Host would make the request malformed (RFC 9112, section 3.2).
    local repeated = lower == "host" and host_given
    host_given = host_given or lower == "host"
    if lower ~= "content-length" and not repeated then
      if type(value) == "table" then
        -- A header that was given several times has several values.
        for _, one in ipairs(value) do
          lines[#lines + 1] = name .. ": " .. tostring(one)
        end
      else
        lines[#lines + 1] = name .. ": " .. tostring(value)
      end
    end
  end
  local host = not host_given and host_of(wrk.headers)
  if host then
    lines[#lines + 1] = "Host: " .. host
  end
  if body then
    lines[#lines + 1] = "Content-Length: " .. string.len(body)
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

local hooks = {}

-- Whether each request is made anew. If not, all are the same.
function hooks.is_dynamic()
  return type(request) == "function" or wrk.request ~= default_request
end

local number_of, getinfo = tonumber, debug.getinfo
-- The function of the script that has returned a request or a delay.
local called

-- These look the script's function up at each call, because a script may replace it during the run.
function hooks.request()
  called = type(request) == "function" and request or wrk.request
  return called()
end

function hooks.response(status, headers, body)
  if response then
    response(status, headers, body)
  end
end

-- Returns what the script's delay returns, in milliseconds; 0 for what is no number, as in wrk.
function hooks.delay()
  called = delay
  return delay and number_of((delay())) or 0
end

-- Where the function begins that was called last, for an error of what it returned.
function hooks.place()
  local info = getinfo(called, "S")
  return info.linedefined > 0 and info.short_src .. ":" .. info.linedefined or "a function in C"
end

-- Makes `require` find modules in `folder` first. Not by package.path, because `;` and `?` in the folder's name would
-- have a meaning there.
function hooks.search_modules_in(folder)
  local function readable(file)
    local opened = io.open(file, "rb")
    return opened and opened:close()
  end
  table.insert(package.loaders, 2, function(name)
    local base = folder .. "/" .. string.gsub(name, "%.", "/")
    for _, file in ipairs({ base .. ".lua", base .. "/init.lua" }) do
      if readable(file) then
        return assert(loadfile(file))
      end
    end
    local library = base .. ".so"
    if readable(library) then
      return assert(package.loadlib(library, "luaopen_" .. string.gsub(name, "%.", "_")))
    end
    return ("\n\tno file '%s.lua', '%s/init.lua' or '%s.so'"):format(base, base, base)
  end)
end

-- All threads share standard output. Each keeps its text until a line is complete, so that lines do not mix.
local PENDING_MAX = 65536
local stdout = io.stdout
local file = getmetatable(stdout).__index
local write, flush, exit = file.write, file.flush, os.exit
local parts, part_count, pending_bytes = {}, 0, 0
-- Whether the last text that was written has no end of line.
local line_is_open = false
stdout:setvbuf("line")

local function take_pending()
  local text = table.concat(parts)
  parts, part_count, pending_bytes = {}, 0, 0
  return text
end

local function emit(text)
  if text ~= "" then
    line_is_open = string.sub(text, -1) ~= "\n"
  end
  return write(stdout, text)
end

function file.write(self, ...)
  if self ~= stdout then
    return write(self, ...)
  end
  local complete = false
  for i = 1, select("#", ...) do
    local part = select(i, ...)
    if type(part) ~= "string" and type(part) ~= "number" then
      error(("bad argument #%d to 'write' (string expected, got %s)"):format(i, type(part)), 2)
    end
    part_count = part_count + 1
    parts[part_count] = part
    pending_bytes = pending_bytes + string.len(part)
    complete = complete or string.find(part, "\n", 1, true) ~= nil
  end
  if not complete and pending_bytes <= PENDING_MAX then
    return true
  end
  local text = take_pending()
  local lines = string.match(text, "^.*\n") or text
  if #lines < #text then
    parts, part_count, pending_bytes = { string.sub(text, #lines + 1) }, 1, #text - #lines
  end
  return emit(lines)
end

function file.flush(self)
  if self == stdout then
    emit(take_pending())
  end
  return flush(self)
end

function io.write(...)
  return io.output():write(...)
end

function io.flush()
  return io.output():flush()
end

function print(...)
  local words = { ... }
  for i = 1, select("#", ...) do
    words[i] = tostring(words[i])
  end
  stdout:write(table.concat(words, "\t"), "\n")
end

function os.exit(...)
  stdout:flush()
  exit(...)
end

function hooks.flush()
  stdout:flush()
end

-- Writes what is pending and ends its line, because text of others follows.
function hooks.end_line()
  emit(take_pending())
  if line_is_open then
    emit("\n")
  end
  flush(stdout)
end

return hooks
