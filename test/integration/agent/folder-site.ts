import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { acceptRequests } from '../../harness/fleets/accept-requests.ts';
import { runAgent } from '../../harness/run/run-agent.ts';
import { type Outcome, succeed } from '../../harness/run/run-command.ts';
import type { Office } from '../../e2e/office.ts';

/** A folder that plays the host of a site: the real agent applies files below it, and only a folder goes there and back. */
export type Site = {
  readonly name: string;
  /** The root folder that the agent applies files below. */
  readonly host: string;
  readonly medium: string;
  readonly agent: (...words: readonly string[]) => Promise<Outcome>;
};

/** A folder has no init, so nothing could say that a unit is healthy: files only, with a check that can run. */
export const withoutUnits = async (office: Office, command = 'test -d "$FLEET_ROOT/etc"'): Promise<void> => {
  const check = `  checks:
    - name: is-there
      type: exec
      argv: [/bin/sh, -c, '${command}']
`;
  for (const name of ['label-printer', 'scale-reader'])
    await office.edit(`apps/${name}/host/package.yaml`, (text) =>
      text.replace(/^ {2}units:[^]*?(?=^ {2}siteInputs:|^ {2}#|(?![^]))/m, () => check),
    );
  await office.edit('platform/base/templates/workload-slice.yaml', (text) =>
    text.slice(0, text.indexOf('        units:')),
  );
};

export const startSite = async ({ folder }: Office, name: string): Promise<Site> => {
  const at = (...parts: readonly string[]): string => join(folder, 'sites', name, ...parts);
  for (const part of ['host', 'medium']) await mkdir(at(part), { recursive: true });
  await writeFile(at('agent.yaml'), `state: ${at('state')}\nroot: ${at('host')}\nservices: none\n`);
  const agent = (...words: readonly string[]): Promise<Outcome> =>
    runAgent(folder, [...words, '--config', at('agent.yaml')]);
  return { name, host: at('host'), medium: at('medium'), agent };
};

export const enroll = async (
  office: Office,
  { name, medium, agent }: Site,
  channel: string,
): Promise<void> => {
  const words = ['--fleet', 'halden', '--site', name, '--name', 'press-1', '--channel', channel];
  succeed(await agent('enroll', medium, ...words, '--root-sha256', office.rootSha256));
  succeed(await office.scheduler('sites', 'enroll', medium, ...(await acceptRequests(medium))));
  succeed(await office.scheduler('sites', 'set', name, 'lineNumber=7'));
};

export const carryOut = async (office: Office, { name, medium, agent }: Site): Promise<void> => {
  await office.fill(medium, name);
  succeed(await agent('import', medium));
};

export const carryHome = async (office: Office, { medium, agent }: Site): Promise<void> => {
  succeed(await agent('reports', 'export', medium));
  succeed(await office.scheduler('reports', 'import', medium));
};
