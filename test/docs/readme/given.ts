// Declares the free names of `@example` blocks: of those alone, which is why the project leaves this file out. Exports of our
// packages need no line here: they are imported.
import type { Client, Inbox, Receiver, ReportEvent, ReportRequest, Schema } from "@reporthook/core";
import type { Person } from "@reporthook/dashboard";
import type { Emulator } from "@reporthook/emulator";
import type { MountHost } from "@reporthook/testing";

declare global {
  const base: string;
  const client: Client;
  const connection: { host: string; port: number };
  const emulator: Emulator;
  const event: ReportEvent<"complete">;
  const host: MountHost;
  const inbox: Inbox;
  const pool: import("pg").Pool;
  const receiver: Receiver;
  const report: ReportRequest;
  const request: Request;
  const secret: string;
  const sql: import("postgres").Sql;

  function personOf(cookie: string | null): Promise<Person | null>;
  function save(id: string, reportId: string | null): Promise<void>;
  function test(name: string, run: () => Promise<void>): void;

  const z: {
    object<Shape>(shape: { [Name in keyof Shape]: Schema<Shape[Name]> }): Schema<Shape>;
    url(): Schema<string>;
  };
  const http: typeof import("node:http");
  const express: typeof import("express");
  const Koa: typeof import("koa");
  const Router: typeof import("@koa/router")["default"];
  const mount: typeof import("koa-mount");
  const Hono: typeof import("hono")["Hono"];
  const Queue: typeof import("bullmq")["Queue"];
  const BullMQAdapter: typeof import("@bull-board/api/bullMQAdapter")["BullMQAdapter"];
}
