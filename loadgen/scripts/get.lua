-- GET for uniformly random keys of a dataset.
--
--   loadgen -R70k -s scripts/get.lua http://HOST:PORT -- pairs=2000000 [seed=1]
--
-- pairs  number of pairs in the dataset; keys are k000000000 up to pairs - 1
-- seed   with the same seed, each thread asks for the same keys in the same order in each run
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
local before, after, last

function init(args)
  local values = settings(args, { pairs = 0, seed = 1 })
  if values.pairs < 1 or values.pairs > 1e9 then
    error("say how many pairs the dataset has, 1 to 1000000000: -- pairs=2000000", 0)
  end
  last = values.pairs - 1
  math.randomseed(values.seed * 1000 + thread_index)

  -- Everything but the key is the same in each request: made once.
  local whole = wrk.format("GET", "/v0/entity?id=@")
  local at = string.find(whole, "@", 1, true)
  before = string.sub(whole, 1, at - 1)
  after = string.sub(whole, at + 1)
end

function request()
  return before .. format("k%09d", random(0, last)) .. after
end
