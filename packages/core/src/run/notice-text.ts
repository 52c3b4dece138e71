import type { InboxNotice } from "../inbox/inbox.ts";

/** A notice of an inbox in words, without its subject. */
export function noticeText(notice: InboxNotice): string {
  if (notice.what === "stood_still") {
    const handedOn = notice.isHandedOn ? "; its deliveries were handed on" : "";
    return `stood still for ${secondsOf(notice.ms)}${handedOn}`;
  }
  const { deliveries, process, silentMs } = notice;
  return `took over ${deliveries} ${deliveries === 1 ? "delivery" : "deliveries"} of process ${process}, silent for ${secondsOf(silentMs)}`;
}

function secondsOf(ms: number): string {
  return `${Math.round(ms / 1_000)} s`;
}
