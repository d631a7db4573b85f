-- One connection and thread: a response belongs to the last request. Reports at the end how many responses were not as expected.
local steps = {
  { "PUT", "/v0/entity?id=wrk-1", "one", 201, "" },
  { "PUT", "/v0/entity?id=wrk-2", "two", 201, "" },
  { "GET", "/v0/entity?id=wrk-1", nil, 200, "one" },
  { "GET", "/v0/entities?start=wrk&end=wrl", nil, 200, "wrk-1\nonewrk-2\ntwo" },
  { "DELETE", "/v0/entity?id=wrk-1", nil, 202, "" },
  { "GET", "/v0/entity?id=wrk-1", nil, 404, "" },
}
local threads = {}
-- wrk makes one request that it does not send, to count the requests in it, so the first step is made twice
local made = -1
local current
answered = 0
wrong = 0

function setup(thread)
  threads[#threads + 1] = thread
end

function request()
  current = steps[math.max(made, 0) % #steps + 1]
  made = made + 1
  return wrk.format(current[1], current[2], nil, current[3])
end

function response(status, headers, body)
  answered = answered + 1
  if status ~= current[4] or body ~= current[5] then
    wrong = wrong + 1
  end
end

function done(summary, latency, requests)
  for _, thread in ipairs(threads) do
    print(string.format("answered %d wrong %d", thread:get("answered"), thread:get("wrong")))
  end
end
