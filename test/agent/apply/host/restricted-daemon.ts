import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { FactoryHost } from '../../../harness/hosts/factory-host.ts';
import { askLines } from '../../../harness/run/answered-lines.ts';
import { agentOnHost, testProgramOnHost } from '../../../harness/run/program-file.ts';

const repository = resolve(import.meta.dirname, '../../../..');
const agent = agentOnHost();
/** Where the checkout lies on a host. */
const inside = '/opt/fleet-ferry';
const onHost = testProgramOnHost('test/agent/apply/host/on-host.ts');

/** The command that runs on-host.ts inside a host. */
const ON_HOST = ['/usr/local/bin/node', onHost.file] as const;

/** What a host needs bound for on-host.ts and for the agent. */
export const DAEMON_BINDS = [
  { from: repository, to: inside, readOnly: true },
  ...[agent.bind, onHost.bind].filter(({ to }) => to !== inside),
];

/** An error of the agent on the host, with its code. */
type HostError = {
  readonly code: string;
  readonly message: string;
  readonly printed?: { readonly by: string; readonly text: string };
};

/** Asks on-host.ts inside a host; one process answers until the host goes down. The returned function rejects with the agent's error. */
export const askOnHost = (host: FactoryHost) => {
  const ask = askLines<object, { readonly answer?: unknown; readonly error?: HostError }>(() =>
    host.open(ON_HOST),
  );
  return async (request: object): Promise<unknown> => {
    const asked = await ask(request);
    if ('noAnswer' in asked)
      throw new Error(`on-host.ts ended with ${asked.noAnswer.code}: ${asked.noAnswer.stderr}`);
    const { answer, error } = asked.answer;
    if (error) throw Object.assign(new Error(error.message), error);
    return answer;
  };
};

/**
 * Installs the units that the product ships, and returns a function that runs on-host.ts with the restrictions of the daemon, so that steps
 * go to the runner. The returned text is the answer, or what systemd says.
 */
export const installRestrictedDaemon = async (host: FactoryHost) => {
  const sh = async (script: string, input = ''): Promise<string> =>
    (await host.look(['/bin/sh', '-c', script], { input })).stdout;
  const unit = async (name: string, change: (text: string) => string): Promise<void> => {
    const text = await readFile(join(repository, 'deploy/systemd', name), 'utf8');
    await sh(`cat > '/etc/systemd/system/${name}'`, change(text));
  };
  await unit('fleet-agent.service', (text) =>
    text
      .replace('Type=exec', 'Type=oneshot')
      .replace('Restart=on-failure', 'Restart=no')
      .replace(
        'ExecStart=/usr/bin/fleet-agent run',
        `ExecStart=${ON_HOST.join(' ')}\nStandardInput=file:/run/request\nStandardOutput=truncate:/run/answer`,
      ),
  );
  await unit('fleet-agent-runner@.service', (text) => text);
  await sh(`printf '#!/bin/sh\\nexec /usr/local/bin/node ${agent.file} "$@"\\n' > /usr/bin/fleet-agent
    chmod 755 /usr/bin/fleet-agent
    mkdir -p /var/lib/agent
    mv /var/lib/agent /var/lib/fleet-agent
    ln -s fleet-agent /var/lib/agent
    systemctl daemon-reload`);
  return async (request: object): Promise<string> => {
    await sh('cat > /run/request', JSON.stringify([0, request]));
    return await sh(
      'systemctl start fleet-agent.service 2>&1; cat /run/answer; journalctl -u fleet-agent.service -o cat -n 3',
    );
  };
};
