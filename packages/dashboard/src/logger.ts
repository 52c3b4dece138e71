/** Where the dashboard tells of what was done: pino and the console fit. */
export interface DashboardLogger {
  /** Who released what; left out, none is written. */
  info?(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}
