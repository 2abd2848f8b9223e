import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Office, openOffice } from '../../e2e/office.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { runCommand, succeed } from '../../harness/run/run-command.ts';
import { runAgent } from '../../harness/run/run-agent.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

type Row = { readonly agent: string; readonly verdict: string };

const until = async (what: string, holds: () => boolean | Promise<boolean>): Promise<void> => {
  const limit = AbortSignal.timeout(180_000);
  while (!limit.aborted) {
    if (await holds()) return;
    await sleep(200);
  }
  throw new Error(`never: ${what}`);
};

/** All three are processes: the hub, a registry that it publishes to, and an agent that knows nothing but both addresses. */
describeWith(['dockerRegistry'], 'an agent at the real hub', ({ dockerRegistry }) => {
  const stack = new AsyncDisposableStack();
  const running: ReturnType<typeof spawn>[] = [];
  let folder = '';
  let office: Office;
  let registry: Registry;
  let hub = '';
  const at = (name: string): string => join(folder, name);

  const start = (name: 'scheduler' | 'agent', words: readonly string[], log: (text: string) => void) => {
    const child = spawn(process.execPath, [programFile(name), ...words], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.push(child);
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => log(chunk.toString()));
    return child;
  };
  let env: NodeJS.ProcessEnv = {};
  let hubLog = '';
  let agentLog = '';
  const agent = (...words: readonly string[]) => runAgent(folder, words, env);

  beforeAll(async () => {
    folder = stack.use(await temporaryDirectory('online-hub')).path;
    office = await openOffice(folder);
    registry = stack.use(await startRegistry(dockerRegistry));
    const port = await freePort();
    hub = `https://localhost:${port}`;
    await mkdir(at('root'));
    env = {
      ...process.env,
      FLEET_AGENT_STATE: at('state'),
      FLEET_AGENT_ROOT: at('root'),
      FLEET_AGENT_SERVICES: 'none',
      FLEET_AGENT_HUB: hub,
      FLEET_AGENT_REGISTRY: `oci://${registry.host}/fleet`,
      FLEET_AGENT_POLL: '1s',
      FLEET_AGENT_INTERVAL: '5s',
    };
    await office.build();
    const to = `oci://${registry.host}/fleet`;
    const serve = [
      'serve',
      '--listen',
      `127.0.0.1:${port}`,
      '--hostname',
      'localhost',
      '--registry',
      to,
      '--images',
      'images',
    ];
    start('scheduler', serve, (text) => {
      hubLog += text;
    });
    await until('the hub listens', () => hubLog.includes(String(port)));
  });
  afterAll(async () => {
    for (const child of running) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    await stack.disposeAsync();
  });

  it('enrols with a token, once', async () => {
    const made = succeed(await office.scheduler('tokens', 'create', '--site', 'plant-7', '--json'));
    const { token } = JSON.parse(made.stdout) as { token: string };
    await writeFile(at('token'), `${token}\n`);
    const words = ['--site', 'plant-7', '--channel', 'prod/factory-host', '--root-sha256', office.rootSha256];
    const enrolled = await agent('enroll', '--name', 'press-1', ...words, '--token-file', at('token'));
    expect(enrolled, enrolled.stderr).toMatchObject({ code: 0 });
    const other = { ...env, FLEET_AGENT_STATE: at('other') };
    const again = await runCommand(
      [
        process.execPath,
        programFile('agent'),
        'enroll',
        '--name',
        'press-2',
        ...words,
        '--token-file',
        at('token'),
      ],
      { cwd: folder, env: other },
    );
    expect(again).toMatchObject({ code: 4, stderr: expect.stringContaining('TOKEN_INVALID') });
  });

  it('takes up what the hub publishes, and the hub shows what runs', async () => {
    succeed(await office.scheduler('sites', 'set', 'plant-7', 'lineNumber=7'));
    start('agent', ['run'], (text) => {
      agentLog += text;
    });
    await until('a release runs', async () => {
      const { stdout } = await agent('status', '--json');
      const { packages } = JSON.parse(stdout) as { packages: { status: string }[] };
      return packages.length > 0 && packages.every(({ status }) => status === 'unknown');
    }).catch(async (error: unknown) => {
      throw new Error(
        `${String(error)}\n${(await agent('status')).stdout}\n${agentLog.slice(-3000)}\n${hubLog.slice(-3000)}`,
      );
    });
    const rows = async () => ((await office.status()) as { readonly rows: readonly Row[] }).rows;
    await until('the hub knows', async () => {
      const own = (await rows()).filter((row) => row.agent === 'press-1');
      return own.length > 0 && own.every(({ verdict }) => verdict === 'unknown');
    }).catch(async (error: unknown) => {
      throw new Error(`${String(error)}\n${JSON.stringify(await office.status())}`);
    });
    const { stdout } = await agent('status');
    expect(stdout).toMatch(/^Hub .*last handed over/m);
    expect(await readFile(at('state/agent.crt'), 'utf8')).toContain('BEGIN CERTIFICATE');
  });
});
