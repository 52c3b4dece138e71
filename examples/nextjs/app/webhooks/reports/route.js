// Imported with the first request: a build has no key.
const imported = () => import("../../../receiver.js");

export const POST = async (request) => (await imported()).receiver.fetch(request);
