/**
 * Runs inside a booted host: cases of dpkg-cases.ts with the real target on '/'. Answers each line `[id, CaseRequest]` with what the plan
 * announced, what dpkg did, and whether a failed release left the host as it was, `[id, CaseResult]`.
 */
import { rmSync, mkdirSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { hostTarget } from '../../../../agent/apply/host/host-target.ts';
import { fromStep } from '../../../../agent/apply/host/host-step.ts';
import { readDpkg } from '../../../../agent/apply/host/debs/dpkg-state.ts';
import { runCommand } from '../../../../agent/apply/host/run-command.ts';
import type { DesiredPackage, Plan, Target } from '../../../../agent/model/target.ts';
import { isFleetError } from '../../../../bundles/errors.ts';
import { applyTo, type Inventory, never } from '../../../agent/apply/host/sandbox.ts';
import { type BuiltPackage, desiredFrom } from '../../../agent/apply/host/built-package.ts';

export type CaseRequest = {
  /** Paths of the administrator's packages. */
  readonly admin: readonly string[];
  /** dpkg may fail on them, and packages may stay broken. */
  readonly broken: boolean;
  readonly first: BuiltPackage | null;
  readonly here: string;
  readonly next: BuiltPackage;
  readonly holds: string;
  /** Every Debian package of the case. */
  readonly names: readonly string[];
};

export type CaseResult = {
  /** What the plan announced and dpkg did, as 'gauge 2' and 'gauge removed', sorted. */
  readonly announced: readonly string[];
  readonly did: readonly string[];
  /** Code and message of a release that failed; '' for none. */
  readonly error: string;
  /** Output of `holds`, and of dpkg --audit; '' where all is well. */
  readonly wrong: string;
  /** Differences to the host before the release, after it failed and the host went back. */
  readonly left: readonly string[];
};

const state = '/var/lib/agent';
const tools = { run: runCommand, signal: never };

const run = async (script: string): Promise<string> => {
  const { code, stdout, stderr } = await runCommand(['/bin/sh', '-c', script], {
    timeoutMs: 60_000,
    signal: never,
  });
  return code === 0 ? '' : `'${script}' ended with ${code}: ${stdout}${stderr}`;
};

const must = async (script: string): Promise<void> => {
  const wrong = await run(script);
  if (wrong !== '') throw new Error(wrong);
};

const installed = async (): Promise<ReadonlyMap<string, string>> =>
  new Map(
    [...(await readDpkg(tools))].flatMap(([name, { status, version, word }]) =>
      status === 'removed' ? [] : [[name, status === 'installed' ? version : `${version} ${word}`] as const],
    ),
  );

const changes = (
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => before.get(name) !== after.get(name))
    .map((name) => `${name} ${after.get(name) ?? 'removed'}`)
    .toSorted();

const runCase = async ({
  admin,
  broken,
  first,
  here,
  next,
  holds,
  names,
}: CaseRequest): Promise<CaseResult> => {
  const plans: Plan[] = [];
  const real = hostTarget({
    state,
    root: '/',
    services: 'none',
    backups: `${state}/backups`,
    maxBackupBytes: 1 << 20,
    pinnedBackups: () => new Set(),
    isRoot: true,
    run: runCommand,
  });
  const target: Target = {
    ...real,
    plan: async (...words) => {
      const plan = await real.plan(...words);
      plans.push(plan);
      return plan;
    },
  };
  const inventory: Inventory = { owned: [] };
  const apply = async (desired: DesiredPackage | undefined): Promise<string> => {
    try {
      await applyTo(target, inventory, desired);
      return '';
    } catch (error) {
      if (!isFleetError(error)) throw error;
      return `${error.code}: ${error.message}`;
    }
  };
  mkdirSync(state, { recursive: true });
  try {
    if (admin.length > 0) await must(`dpkg -i ${admin.join(' ')}${broken ? ' || true' : ''}`);
    const desired = first ? await desiredFrom(first, state) : undefined;
    const began = desired ? await apply(desired) : '';
    if (began !== '') throw new Error(`the first release: ${began}`);
    if (here !== '') await must(here);
    const before = await installed();
    plans.length = 0;
    const error = await apply(await desiredFrom(next, state));
    const after = await installed();
    const announced = (plans[0]?.steps ?? [])
      .map(fromStep)
      .flatMap((step) => (step.kind === 'debs' ? step.detail.changes : []));
    const back = error === '' ? '' : await apply(desired);
    const audit = broken ? '' : await run('test -z "$(dpkg --audit)"');
    const wrong = [audit, back, holds === '' ? '' : await run(holds)];
    return {
      announced: announced.toSorted(),
      did: changes(before, after),
      error,
      wrong: wrong.filter((it) => it !== '').join('\n'),
      left: error === '' ? [] : changes(before, await installed()),
    };
  } finally {
    await must(
      `rm -f /run/refuse /etc/apt/apt.conf.d/case /etc/apt/preferences.d/case /etc/dpkg/dpkg.cfg.d/case; dpkg --purge --force-all ${names.join(' ')} 2>/dev/null; rm -rf /run/triggered /run/unit /run/before /run/gauge-configured /etc/gauge* /etc/scale*; true`,
    );
    rmSync(state, { recursive: true, force: true });
  }
};

for await (const line of createInterface({ input: process.stdin })) {
  const [id, request] = JSON.parse(line) as [number, CaseRequest];
  process.stdout.write(`${JSON.stringify([id, await runCase(request)])}\n`);
}
