/** The commands of ioredis that are used beside BullMQ. */
export interface RedisCommands {
  eval(script: string, keys: number, ...given: readonly string[]): Promise<unknown>;
  hget(key: string, field: string): Promise<string | null>;
  hmget(key: string, ...fields: readonly string[]): Promise<(string | null)[]>;
  zcard(key: string): Promise<number>;
  zrangebylex(
    key: string,
    ...range: [from: string, to: string, limit: "LIMIT", offset: number, count: number]
  ): Promise<string[]>;
  zrevrangebylex: RedisCommands["zrangebylex"];
  zrangebyscore(
    key: string,
    ...range: [from: string, to: number, limit: "LIMIT", offset: number, count: number]
  ): Promise<string[]>;
}
