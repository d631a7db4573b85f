-- GET for keys of a dataset.
--
--   loadgen -R70k -s scripts/get.lua http://HOST:PORT -- pairs=2000000 [keys=uniform] [theta=0.99] [seed=1]
--
-- pairs  number of pairs in the dataset; keys are k000000000 up to pairs - 1
-- keys   uniform, zipfian (a few keys are popular) or sequential (each in turn, over all threads)
-- theta  skew of zipfian keys, above 0 and below 1; the higher, the more requests for popular keys
-- seed   the same seed gives each thread the same keys in the same order in each run
--
-- lab: reads, pairs, seed
--
-- Also runs under wrk2 and wrk, because it only uses their interface.

local threads = {}

-- Tells each thread its number and the number of threads.
function setup(thread)
  thread:set("thread_index", #threads)
  threads[#threads + 1] = thread
  for _, each in ipairs(threads) do
    each:set("thread_count", #threads)
  end
end

-- Reads arguments of the form name=value. Refuses unknown names, and values of another type than the default.
local function settings(args, defaults)
  local values = {}
  for name, value in pairs(defaults) do
    values[name] = value
  end
  for _, word in ipairs(args) do
    local name, value = string.match(word, "^(%w[%w_]*)=([%w.]+)$")
    local default = name and defaults[name]
    local fits = default ~= nil and (type(default) == "string" or name == "theta" and tonumber(value)
      or string.match(value, "^%d+$"))
    if not fits then
      local known = {}
      for each in pairs(defaults) do
        known[#known + 1] = each .. (each == "keys" and "=KIND" or "=N")
      end
      table.sort(known)
      error("argument '" .. word .. "' is not understood; known are " .. table.concat(known, " "), 0)
    end
    values[name] = type(default) == "string" and value or tonumber(value)
  end
  if values.pairs < 1 or values.pairs > 1e9 then
    error("say how many pairs the dataset has, 1 to 1000000000: -- pairs=2000000", 0)
  end
  return values
end

local random, format, floor = math.random, string.format, math.floor

-- The sum of 1 / i^theta for i = 1 to n: term by term up to a million, then by its integral (Euler and Maclaurin).
local function zeta(n, theta)
  local exact, sum = math.min(n, 1000000), 0
  for i = 1, exact do
    sum = sum + i ^ -theta
  end
  local tail = (n ^ (1 - theta) - exact ^ (1 - theta)) / (1 - theta) + (n ^ -theta - exact ^ -theta) / 2
  return sum + tail
end

local function greatest_common_divisor(a, b)
  while b ~= 0 do
    a, b = b, a % b
  end
  return a
end

-- Chooses the key of rank i with a probability proportional to 1 / (i + 1)^theta, as YCSB does (Gray et al., "Quickly
-- Generating Billion-Record Synthetic Databases", 1994). Popular keys are far apart: a key is its rank times a number
-- that has no common divisor with n, modulo n, so each rank has a key of its own.
local function zipfian(n, theta)
  local stride = 7368787
  while greatest_common_divisor(n, stride) ~= 1 do
    stride = stride - 1
  end
  local zeta_n, second = zeta(n, theta), 1 + 0.5 ^ theta
  local eta = (1 - (2 / n) ^ (1 - theta)) / (1 - second / zeta_n)
  local alpha = 1 / (1 - theta)
  return function()
    local u = random()
    local rank = floor(n * (eta * u - eta + 1) ^ alpha)
    if u * zeta_n < 1 then
      rank = 0
    elseif u * zeta_n < second then
      rank = 1
    end
    return math.min(rank, n - 1) * stride % n
  end
end

-- Returns a function that returns the number of the next key.
local function key_chooser(values)
  local n = values.pairs
  if values.keys == "uniform" then
    return function()
      return random(0, n - 1)
    end
  elseif values.keys == "zipfian" then
    if values.theta <= 0 or values.theta >= 1 then
      error("theta must be above 0 and below 1", 0)
    end
    return zipfian(n, values.theta)
  elseif values.keys == "sequential" then
    -- Together the threads request every key in turn.
    local at
    return function()
      at = (at and at + thread_count or thread_index) % n
      return at
    end
  end
  error("keys must be uniform, zipfian or sequential", 0)
end

local before, after, next_key

function init(args)
  local values = settings(args, { pairs = 0, keys = "uniform", theta = 0.99, seed = 1 })
  math.randomseed(values.seed * 1000 + thread_index)
  next_key = key_chooser(values)

  -- Everything but the key is the same in each request, so it is made once.
  local whole = wrk.format("GET", "/v0/entity?id=@")
  local at = string.find(whole, "@", 1, true)
  before = string.sub(whole, 1, at - 1)
  after = string.sub(whole, at + 1)
end

function request()
  return before .. format("k%09d", next_key()) .. after
end
