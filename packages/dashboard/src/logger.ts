/** The dashboard's logger: pino and the console fit. */
export interface DashboardLogger {
  /** Gets each action with its user. Default: not logged. */
  info?(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}
