-- Begins and ends of calls of one gateway, in order, all at one time: the server's.
--
-- KEYS: the gateways that live, a sorted set of them by when they are given up (ms); then whatever the steps name by
--   its number: a replica's counts (a hash, calls under way by gateway; beside it, with a `?`, since when and when last
--   who wanted a place and was refused), or until when a rate is paid for (us).
-- ARGV: the gateway, how long it lives without another word (ms), how much of a rate may come at once (us), and the
--   steps as JSON: {replica, its calls under way, most of all gateways' or 0: tell only, [{rate, us a unit, units}, ...]}.
-- Returns for each step {0} or {why not: 1 the replica, 1 + n the n-th rate, us until it may be asked again}.
-- Where `most` is 0 nothing is refused: a call has ended (units are corrections then), or the gateway says how it stands.

local gateway, lease, burst = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])

redis.call('ZADD', KEYS[1], now / 1000 + lease, gateway)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now / 1000)
redis.call('PEXPIRE', KEYS[1], lease)

local function of_others(replica)
  local sum, counts = 0, redis.call('HGETALL', replica)
  for i = 1, #counts, 2 do
    if counts[i] ~= gateway then
      if redis.call('ZSCORE', KEYS[1], counts[i]) then
        sum = sum + tonumber(counts[i + 1])
      else
        redis.call('HDEL', replica, counts[i])
      end
    end
  end
  return sum
end

-- A gateway that is refused a place says that it wants one; that lapses when it does not come again.
local WANTS_FOR = 500000

local function wants(replica)
  local since, told = {}, redis.call('HGETALL', replica .. '?')
  for i = 1, #told, 2 do
    local first, last = string.match(told[i + 1], '^(%d+) (%d+)$')
    if now - tonumber(last) < WANTS_FOR then
      since[told[i]] = tonumber(first)
    end
  end
  return since
end

local function want(replica)
  local since = wants(replica)[gateway] or now
  redis.call('HSET', replica .. '?', gateway, string.format('%.0f %.0f', since, now))
  redis.call('PEXPIRE', replica .. '?', lease)
end

-- Whether another who wants a place has fewer, or as many and has waited for longer: else who has all keeps all.
local function yields(replica, count)
  local all = wants(replica)
  local mine = all[gateway] or now
  for other, since in pairs(all) do
    local theirs = tonumber(redis.call('HGET', replica, other) or 0) + 1
    if other ~= gateway and (theirs < count or (theirs == count and since < mine)) then
      return true
    end
  end
  return false
end

local function stand(replica, count)
  if count > 0 then
    redis.call('HSET', replica, gateway, count)
    redis.call('PEXPIRE', replica, lease)
  else
    redis.call('HDEL', replica, gateway)
  end
end

local function due(rate)
  return math.max(tonumber(redis.call('GET', rate) or 0), now)
end

local function take(rate, price)
  local owed = due(rate) + price
  if owed > now then
    redis.call('SET', rate, string.format('%.0f', owed), 'PX', math.ceil((owed - now) / 1000))
  else
    redis.call('DEL', rate)
  end
end

local function refusal(replica, count, most, charges)
  if of_others(replica) + count > most or yields(replica, count) then
    want(replica)
    return {1, 0}
  end
  redis.call('HDEL', replica .. '?', gateway)
  for n, charge in ipairs(charges) do
    local price = charge[2] * charge[3]
    local left = due(KEYS[charge[1]]) + math.min(price, burst) - burst - now
    if left > 0 then
      return {1 + n, math.ceil(left)}
    end
  end
  return nil
end

local answers = {}
for n, step in ipairs(cjson.decode(ARGV[4])) do
  local replica, count, most, charges = KEYS[step[1]], step[2], step[3], step[4]
  local refused = most > 0 and refusal(replica, count, most, charges)
  if refused then
    stand(replica, count - 1)
  else
    stand(replica, count)
    for _, charge in ipairs(charges) do
      take(KEYS[charge[1]], charge[2] * charge[3])
    end
  end
  answers[n] = refused or {0}
end
return answers
