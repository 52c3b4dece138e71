// A request is a member of a hash, as its version, a space and JSON. Sorted sets beside it hold its id: `all`, one for its
// state, and one of `settled`, `told` and `due`, by time. `keys` leads from idempotency keys to ids.

const shared = `
  local at = KEYS[1]
  local function names()
    return { 'all', 'state:unconfirmed', 'state:open', 'state:complete', 'state:internal_error', 'overdue', 'settled', 'told', 'due' }
  end
  local function drop(id)
    local text = redis.call('HGET', at, id)
    if not text then return end
    local key = redis.call('HGET', at .. ':key-of', id)
    if key then redis.call('HDEL', at .. ':keys', key) end
    redis.call('HDEL', at, id)
    redis.call('HDEL', at .. ':key-of', id)
    for _, name in ipairs(names()) do redis.call('ZREM', at .. ':' .. name, id) end
  end
  local function put(id, text, key, state, dueAt, settledAt, isTold)
    redis.call('HSET', at, id, text)
    if key ~= '' then
      redis.call('HSET', at .. ':keys', key, id)
      redis.call('HSET', at .. ':key-of', id, key)
    end
    redis.call('ZADD', at .. ':all', 0, id)
    redis.call('ZADD', at .. ':state:' .. state, 0, id)
    if settledAt ~= '' then
      redis.call('ZADD', at .. ':settled', settledAt, id)
    elseif isTold == '1' then
      redis.call('ZADD', at .. ':overdue', 0, id)
      redis.call('ZADD', at .. ':told', dueAt, id)
    else
      redis.call('ZADD', at .. ':due', dueAt, id)
    end
  end`;

/** Adds a request; returns the one that has its key. */
export const addScript: string = `${shared}
  if ARGV[3] ~= '' then
    local known = redis.call('HGET', at .. ':keys', ARGV[3])
    if known then return redis.call('HGET', at, known) end
  end
  put(unpack(ARGV))
  return nil`;

/** Puts a request in the place of one with a version, or deletes that; returns 1 unless it has another. */
export const replaceScript: string = `${shared}
  local text = redis.call('HGET', at, ARGV[1])
  if not text or string.sub(text, 1, #ARGV[2] + 1) ~= ARGV[2] .. ' ' then return 0 end
  drop(ARGV[1])
  if #ARGV > 2 then put(unpack(ARGV, 3)) end
  return 1`;

/** Deletes those whose time in a sorted set is not after a moment, at most 500; returns how many. */
export const pruneScript: string = `${shared}
  local ids = redis.call('ZRANGEBYSCORE', at .. ':' .. ARGV[1], '-inf', ARGV[2], 'LIMIT', 0, 500)
  for _, id in ipairs(ids) do drop(id) end
  return #ids`;
