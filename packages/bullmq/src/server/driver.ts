import type { IQueueBackend, Worker, WorkerOptions } from "bullmq";

/** The part of a connection in which Redis and PostgreSQL differ. */
export interface ServerDriver {
  /** The connection of all queues. */
  readonly backend: IQueueBackend;
  /** Time limit of connecting, in milliseconds. */
  readonly readyMs: number;
  /** Makes a worker, with separate connections to wait on. */
  workerOf(name: string, options: Omit<WorkerOptions, "connection">): Worker;
  /** A setting of the server; null if it can't be read. */
  setting(name: string): Promise<string | null>;
  /** Calls `listener` whenever the connection was lost and made again. */
  onConnected(listener: () => void): void;
  /** The names of the processes that run these jobs of a queue, in their order; null for one that does not run. */
  ownersOf(queue: string, ids: readonly string[]): Promise<readonly (string | null)[]>;
  /**
   * Removes a job that was added at this time and does not run, and counts that in a field of its queue's metadata if one is given,
   * in one step; resolves to whether it was there.
   */
  removeJob(queue: string, id: string, addedAt: number, counter: string | null): Promise<boolean>;
  /** Replaces the data of a job if it is a failed one that still has the data it had, in one step. */
  updateFailed(queue: string, id: string, was: object, data: object): Promise<void>;
  /** Deletes the expired dedupe keys of a queue, if the server does not. */
  forget(queue: string, now: number): Promise<void>;
  /** The commands of Redis; rejects on PostgreSQL. */
  redis(): Promise<RedisCommands>;
}

/** The commands of ioredis that are used beside BullMQ. */
export interface RedisCommands {
  config(command: "GET", name: string): Promise<readonly string[]>;
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

/** Time limit of a connection, in milliseconds. */
export const openMs = 3_000;
/** Time limit of an answer, in milliseconds. */
export const answerMs = 10_000;
