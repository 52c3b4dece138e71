import type express from "express";
import untypedExpress4 from "express4";
import type Koa from "koa";
import untypedKoa2 from "koa2";

// The suites drive both versions alike; adapters-types.test.ts holds the adapters to the types of each.
/** Express 4, seen as Express 5. */
export const express4: typeof express = untypedExpress4 as unknown as typeof express;

/** Koa 2, seen as Koa 3. */
export const Koa2: typeof Koa = untypedKoa2 as unknown as typeof Koa;
