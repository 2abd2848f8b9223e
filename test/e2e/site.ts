import {
  type FactoryHost,
  type FactoryHostOptions,
  startFactoryHost,
} from '../harness/hosts/factory-host.ts';
import { KEPT_AGENT_BIND, keptAgent } from '../harness/hosts/kept-agent.ts';
import { agentOnHost } from '../harness/run/program-file.ts';
import type { Outcome } from '../harness/run/run-command.ts';
import { succeed } from '../harness/run/run-command.ts';

/** A booted Debian host without network, with the agent on it and a stick plugged in at /media/stick. */
export type SiteHost = AsyncDisposable & {
  readonly host: FactoryHost;
  /** One command after the other, in one process. */
  readonly agent: (...words: readonly string[]) => Promise<Outcome>;
  /** The command as a process of its own. */
  readonly startAgent: (...words: readonly string[]) => Promise<Outcome>;
  readonly enroll: (
    rootSha256: string,
    site: string,
    name: string,
    channel: string,
    medium?: string,
  ) => Promise<Outcome>;
  /** A file of the host as text. */
  readonly read: (path: string) => Promise<string>;
  readonly shell: (script: string) => Promise<Outcome>;
};

const STICK = '/media/stick';

/** With `network: 'machine'` it has a cable to the office, which is `host.cable`. */
export const startSite = async (
  name: string,
  base: string,
  stick: string,
  options: Pick<FactoryHostOptions, 'disks' | 'network'> = {},
): Promise<SiteHost> => {
  const program = agentOnHost();
  const host = await startFactoryHost(name, {
    base,
    ...options,
    binds: [program.bind, KEPT_AGENT_BIND, { from: stick, to: STICK }],
  });
  const agent = keptAgent(host);
  const shell = (script: string): Promise<Outcome> => host.look(['/bin/sh', '-c', script]);
  return {
    host,
    agent,
    startAgent: (...words) => host.exec(['/usr/local/bin/node', program.file, ...words]),
    shell,
    enroll: (rootSha256, site, agentName, channel, medium = STICK) =>
      agent(
        'enroll',
        medium,
        '--fleet',
        'halden',
        '--site',
        site,
        '--name',
        agentName,
        '--channel',
        channel,
        '--root-sha256',
        rootSha256,
      ),
    read: async (path) => succeed(await shell(`cat ${path}`)).stdout,
    [Symbol.asyncDispose]: () => host.remove(),
  };
};
