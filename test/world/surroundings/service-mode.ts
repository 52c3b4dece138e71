/** How the service does: it answers, does not, answers too late, loses answers, fails, limits us, refuses our key. */
export type ServiceMode =
  | "ok"
  | "unreachable"
  | "hanging"
  | "slow"
  | "losing"
  | "failing"
  | "limiting"
  | "refusing";
