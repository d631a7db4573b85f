-- GET and PUT mixed, both for uniformly random keys.
--
--   loadgen -R50k -s scripts/mixed.lua http://HOST:PORT -- pairs=2000000 value_bytes=500 put_percent=10 [seed=1]
--
-- pairs        number of keys to choose from: k000000000 up to pairs - 1
-- value_bytes  mean size of a value; sizes are uniform over 90% to 110% of it
-- put_percent  share of PUT, 0 to 100, the others are GET
-- seed         with the same seed, each thread sends the same in each run
--
-- Runs under wrk2 and wrk as well: it uses their interface alone.

local threads = 0

function setup(thread)
  thread:set("thread_index", threads)
  threads = threads + 1
end

-- Reads words of the form name=value; refuses other names and what is not a whole number from 0.
local function settings(args, defaults)
  local values = {}
  for name, value in pairs(defaults) do
    values[name] = value
  end
  for _, word in ipairs(args) do
    local name, value = string.match(word, "^(%w[%w_]*)=(%d+)$")
    if not name or defaults[name] == nil then
      local known = {}
      for each in pairs(defaults) do
        known[#known + 1] = each .. "=N"
      end
      table.sort(known)
      error("argument '" .. word .. "' is not understood; known are " .. table.concat(known, " "), 0)
    end
    values[name] = tonumber(value)
  end
  return values
end

local random, format = math.random, string.format
local get_before, get_after, put_before, last, put_percent
local tails, tail = {}, 0

-- Enough different values that neither a cache nor a compressor sees one twice within a megabyte.
local VALUES_BYTES = 1048576

local function random_value(size)
  local bytes = {}
  for i = 1, size do
    bytes[i] = random(33, 126)
  end
  -- string.char takes a limited number of arguments.
  local pieces = {}
  for first = 1, size, 1000 do
    pieces[#pieces + 1] = string.char(unpack(bytes, first, math.min(first + 999, size)))
  end
  return table.concat(pieces)
end

function init(args)
  local values = settings(args, { pairs = 0, value_bytes = 500, put_percent = 10, seed = 1 })
  if values.pairs < 1 or values.pairs > 1e9 then
    error("say how many keys to choose from, 1 to 1000000000: -- pairs=2000000", 0)
  end
  if values.value_bytes < 1 or values.value_bytes > 16777216 then
    error("value_bytes must be 1 to 16777216", 0)
  end
  if values.put_percent > 100 then
    error("put_percent must be 0 to 100", 0)
  end
  put_percent = values.put_percent
  last = values.pairs - 1
  math.randomseed(values.seed * 1000 + thread_index)

  local least = math.max(1, math.ceil(values.value_bytes * 0.9))
  local most = math.max(least, math.floor(values.value_bytes * 1.1))
  -- Everything but the key is made now: the PUT is put together from three strings.
  for i = 1, math.max(1, math.floor(VALUES_BYTES / values.value_bytes)) do
    local whole = wrk.format("PUT", "/v0/entity?id=@", nil, random_value(random(least, most)))
    local at = string.find(whole, "@", 1, true)
    put_before = string.sub(whole, 1, at - 1)
    tails[i] = string.sub(whole, at + 1)
  end
  local whole = wrk.format("GET", "/v0/entity?id=@")
  local at = string.find(whole, "@", 1, true)
  get_before = string.sub(whole, 1, at - 1)
  get_after = string.sub(whole, at + 1)
end

function request()
  local key = format("k%09d", random(0, last))
  if random(100) <= put_percent then
    tail = tail % #tails + 1
    return put_before .. key .. tails[tail]
  end
  return get_before .. key .. get_after
end
