import { once } from 'node:events';
import { Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { readGivenFile } from '#bundles/read-given-file';
import { askHub } from '#bundles/transport/hub/ask-hub';
import { certificatesOf } from '#bundles/transport/registry/registry-access';
import { FleetCommand } from '#cli/fleet-command';
import { parseListen } from '../hub/http/listen-address.ts';
import type { Ask } from '../mcp/questions.ts';

export default class Mcp extends FleetCommand {
  static override description =
    'Answer questions about a hub to programs that speak the Model Context Protocol. Read only: what runs where, what fails and why, what changed, which sites differ, why the gate waits, who approved.\n\nBy standard input and output with the token of a reader from a file, or with --listen by HTTP at /mcp, where each request brings its own token. Answers are bounded and marked as data.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> --hub https://hub.example:8443 --hub-token-file ./reader-token',
    '<%= config.bin %> <%= command.id %> --hub https://hub.example:8443 --listen 127.0.0.1:8470',
  ];
  static override flags = {
    hub: Flags.string({
      required: true,
      description: 'Address of the hub, https://host[:port]',
      env: 'FLEET_HUB',
    }),
    'hub-token-file': Flags.string({
      description: 'File with the token of a reader: fleet-scheduler tokens create --reader',
      env: 'FLEET_HUB_TOKEN_FILE',
      exclusive: ['listen'],
    }),
    'ca-file': Flags.string({
      description: "PEM certificates that the hub is trusted by, beside the system's",
      env: 'FLEET_CA_FILE',
    }),
    listen: Flags.string({
      description:
        'Serve HTTP here: <host>:<port>; port 0 takes a free one. Without TLS: loopback, or behind a proxy',
    }),
  };

  async run(): Promise<void> {
    const { flags } = await this.parse(Mcp);
    const url = hubAddress(flags.hub);
    const ca = certificatesOf(flags['ca-file']);
    const { env } = process;
    const askWith =
      (token: string, signal: AbortSignal): Ask =>
      (operation) =>
        askHub({ url, token, ca, env }, operation, signal);
    const { version } = this.config;
    if (flags.listen !== undefined) {
      const { createMcpHttp } = await import('../mcp/serve-http.ts');
      const server = createMcpHttp({ version, askWith, signal: this.signal });
      const { host, port } = parseListen(flags.listen);
      server.listen({ host, port });
      await once(server, 'listening');
      const address = server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : port;
      this.say(`listening at http://${host}:${bound}/mcp`);
      if (!this.signal.aborted) await once(this.signal, 'abort');
      server.closeAllConnections();
      server.close();
      return;
    }
    const token = await readToken(flags['hub-token-file']);
    const { createMcpServer } = await import('../mcp/create-mcp-server.ts');
    const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
    const server = createMcpServer(askWith(token, this.signal), version);
    const ended = Promise.race([once(process.stdin, 'end'), once(this.signal, 'abort')]);
    await server.connect(new StdioServerTransport());
    await ended;
    await server.close();
  }
}

/** @throws FleetError USAGE */
const hubAddress = (hub: string): string => {
  const url = URL.canParse(hub) ? new URL(hub) : undefined;
  const isLocal = url?.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  if (url && (url.protocol === 'https:' || isLocal)) return url.origin;
  throw new FleetError(
    'USAGE',
    `--hub is an address like https://hub.example:8443, not ${JSON.stringify(hub.slice(0, 200))}`,
  );
};

/** @throws FleetError USAGE, CONFIG_INVALID */
const readToken = async (file: string | undefined): Promise<string> => {
  if (file === undefined)
    throw new FleetError('USAGE', '--hub-token-file is missing', {
      hint: 'Create a token with fleet-scheduler tokens create --reader; with --listen each request brings its own',
    });
  const token = (await readGivenFile(file)).trim();
  if (/^[!-~]+$/.test(token)) return token;
  throw new FleetError('CONFIG_INVALID', 'the file is not one line with a token', { at: { file } });
};
