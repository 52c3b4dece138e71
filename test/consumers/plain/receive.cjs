const core = require("@reporthook/core");
const emulator = require("@reporthook/emulator");
const sqlite = require("@reporthook/sqlite");
const scenario = require("./scenario.cjs");

scenario({ core, emulator, sqlite });
