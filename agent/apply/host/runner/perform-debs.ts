import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { type Apt, aptGet, dpkgArgv, runQuietly, runSealed } from '../debs/apt.ts';
import { blocksApt, readDpkg } from '../debs/dpkg-state.ts';
import { fatalError } from '../debs/fatal-error.ts';
import { firstError } from '../debs/first-error.ts';
import { type InvokeHooks, readInvokeHooks } from '../debs/invoke-hooks.ts';
import { prepareApt } from '../debs/prepare-apt.ts';
import { describeChange, goalOfChange, simulateApt, aptArguments } from '../debs/simulate-apt.ts';
import type { CommandResult } from '../host-options.ts';
import { faultOf, noteOf } from './debs-fault.ts';
import { performHook } from './perform-hook.ts';
import type { StepEnd, StepWork } from './step-work.ts';
import type { DebHook, DebsRequest } from '../step-request.ts';
import { hostError } from '../host-error.ts';

/**
 * Brings dpkg to the goal: repairs an interrupted dpkg, checks that apt still plans the announced changes, and runs one transaction
 * between the hooks. Repeating it changes nothing. @throws FleetError BUSY while another program holds the locks of dpkg; DEB_UNMET;
 * DEB_BLOCKED if dpkg or apt does nothing on this host; ABORTED
 */
export const performDebs = async (given: DebsRequest, work: StepWork): Promise<StepEnd> => {
  const { content: repository, scratch, run, signal } = work;
  const apt: Apt = { run, signal, repository, scratch, lockSeconds: given.lockSeconds };
  const hooks = await readInvokeHooks(apt);
  await prepareApt(apt, { hooks });
  const dpkg = await repair({ apt, request: given, hooks });
  // apt refuses to remove what neither the host nor the repository has: what is gone already.
  const request = { ...given, remove: given.remove.filter(({ name }) => dpkg.has(name)) };
  const changes = hasGoal(request) ? await simulateApt(apt, request) : [];
  const announced = new Set(request.changes);
  const surprise = changes.find((change) => !announced.has(goalOfChange(change)));
  if (surprise !== undefined)
    return {
      code: 1,
      stdout: '',
      stderr: '',
      message: `the host changed since this was planned: ${describeChange(surprise)}`,
      surroundings: 'The agent plans it again',
    };
  const isUntouched = ({ package: name, from }: DebHook): boolean => {
    const state = dpkg.get(name);
    return state?.status === 'installed' && state.version === from;
  };
  const before = request.hooks.filter((hook) => hook.when === 'before' && isUntouched(hook));
  const after = request.hooks.filter((hook) => hook.when !== 'before');
  return inTurn([
    ...before.map((hook) => () => performHook(hook, work)),
    () => installAndRemove({ apt, request, hooks }, dpkg),
    ...after.map((hook) => () => performHook(hook, work)),
  ]);
};

type Work = { readonly apt: Apt; readonly request: DebsRequest; readonly hooks: InvokeHooks };

/** Where dpkg writes an operation before it is part of its status; empty unless dpkg was interrupted. */
const UPDATES = '/var/lib/dpkg/updates';

/**
 * Repairs what an interrupted dpkg left: configures packages, and unpacks packages of the goal again. A failure of a single package
 * is left to apt, as the transaction may replace the package, or be possible without it. @returns the state of dpkg afterwards
 * @throws FleetError BUSY; DEB_BLOCKED if dpkg itself does not work
 */
const repair = async (work: Work): Promise<Dpkg> => {
  const { apt, request } = work;
  const dpkg = await readDpkg(apt);
  const updates = await readdir(UPDATES).catch(() => []);
  if (updates.length === 0 && [...dpkg.values()].every(({ status }) => status !== 'broken')) return dpkg;
  await runDpkg(work, ['--configure', '-a']);
  const stuck = request.remove.flatMap(({ name }) => (blocksApt(dpkg.get(name)) ? [name] : []));
  // apt works on nothing while a package waits to be unpacked again that no repository has.
  if (stuck.length > 0) await runDpkg(work, ['--force-remove-reinstreq', '--remove', ...stuck]);
  return await unpackAgain(work, await readDpkg(apt));
};

/** Exit code of dpkg when it did nothing (dpkg(1)); a package that fails is 1. */
const FATAL = 2;

/** Runs dpkg with the hooks that apt runs around it. A package that fails is a result. @throws FleetError BUSY, DEB_BLOCKED */
const runDpkg = async ({ apt, request, hooks }: Work, words: readonly string[]): Promise<CommandResult> => {
  const around = [
    ...hooks.before.map((program) => `--pre-invoke=${program}`),
    // A file system may be in use and cannot be remounted yet: apt tries it again.
    ...hooks.after.map((program) => `--post-invoke=${program} || true`),
  ];
  const ended = await unlocked(apt, dpkgArgv(apt, ...conffileOptions(request), ...around, ...words));
  if (ended.code < FATAL) return ended;
  throw new FleetError('DEB_BLOCKED', `dpkg does not work on this host: ${fatalError(ended)}`, {
    hint: 'Correct it; the agent tries again',
  });
};

/**
 * Unpacks packages of the goal that a power cut left half installed, or marked to be installed again. apt would configure one of them, or
 * what depends on it, first, which fails.
 */
const unpackAgain = async (work: Work, dpkg: Dpkg): Promise<Dpkg> => {
  const { apt, request } = work;
  const left = request.install.filter(({ name }) => blocksApt(dpkg.get(name)));
  if (left.length === 0) return dpkg;
  const index = await readFile(join(apt.repository, 'Packages'), 'utf8');
  const files = left.flatMap(({ name, version }) => {
    const entry = index.split('\n\n').find((one) => isEntryOf(one, name, version));
    const [, file] = /^Filename: (\S+)$/m.exec(entry ?? '') ?? [];
    return file === undefined ? [] : [join(apt.repository, file)];
  });
  if (files.length === 0) return dpkg;
  await runDpkg(work, ['--unpack', ...files]);
  return await readDpkg(apt);
};

const isEntryOf = (entry: string, name: string, version: string): boolean => {
  const lines = entry.split('\n');
  return lines.includes(`Package: ${name}`) && lines.includes(`Version: ${version}`);
};

const hasGoal = ({ install, remove }: DebsRequest): boolean => install.length + remove.length > 0;

/** Runs the commands in sequence until one fails. Returns the combined output. */
const inTurn = async (parts: readonly (() => Promise<StepEnd>)[]): Promise<StepEnd> => {
  let all: StepEnd = { code: 0, stdout: '', stderr: '', message: undefined };
  for (const part of parts) {
    const ended = await part();
    all = { ...ended, stdout: all.stdout + ended.stdout, stderr: all.stderr + ended.stderr };
    if (ended.message !== undefined) break;
  }
  return all;
};

type Dpkg = Awaited<ReturnType<typeof readDpkg>>;

const installAndRemove = async (work: Work, before: Dpkg): Promise<StepEnd> => {
  const { apt, request } = work;
  const ended = await transact(work);
  const reached = await readDpkg(apt);
  const fault = faultOf(request, ended, before, reached);
  if (fault) return { ...ended, code: ended.code === 0 ? 1 : ended.code, ...fault };
  for (const argv of [...markings('hold', request.hold), ...markings('unhold', request.unhold)]) {
    const after = await unlocked(apt, argv, runSealed);
    if (after.code !== 0) return { ...after, message: firstError(after.stderr) };
  }
  const names = purges(request, await readDpkg(apt));
  if (names.length > 0) {
    const purged = await runDpkg(work, ['--purge', ...names]);
    const left = purges(request, await readDpkg(apt));
    if (left.length > 0) return { ...purged, message: `${left[0]} is not purged: ${fatalError(purged)}` };
  }
  const gone = findDisappeared(before, await readDpkg(apt), request);
  const note = noteOf(request, ended, reached);
  return { ...ended, message: gone, ...defined({ note }) };
};

/** dpkg removes a package when others replaced all its files, and apt does not announce it. */
const findDisappeared = (before: Dpkg, dpkg: Dpkg, { remove }: DebsRequest): string | undefined => {
  const meant = new Set(remove.map(({ name }) => name));
  const gone = [...before].find(
    ([name, { status }]) => status === 'installed' && !meant.has(name) && !dpkg.has(name),
  );
  return gone && `${gone[0]} ${gone[1].version} disappeared: packages of the release replaced all its files`;
};

const transact = async ({ apt, request }: Work): Promise<CommandResult> => {
  if (!hasGoal(request)) return { code: 0, stdout: '', stderr: '' };
  if (request.debconf.length > 0) {
    // Each alone: an answer that ends in a backslash would continue with the next line (findings/debconf-selections-do-not-come-back.sh).
    const each = 'for answer; do printf "%s\\n" "$answer" | debconf-set-selections || exit; done';
    const answers = ['sh', '-c', each, 'sh', ...request.debconf];
    const answered = await unlocked(apt, answers);
    if (answered.code !== 0) return answered;
  }
  const install = () =>
    aptGet(
      apt,
      [
        '--yes',
        ...conffileOptions(request).flatMap((one) => ['-o', `Dpkg::Options::=${one}`]),
        ...aptArguments(request),
      ],
      { [request.conffiles === 'keep' ? 'UCF_FORCE_CONFFOLD' : 'UCF_FORCE_CONFFNEW']: '1' },
    );
  const ended = request.services === 'leave' ? await withoutServices(install) : await install();
  if (ended.code !== 0 && (isLocked(ended) || DEBCONF_LOCKED.test(ended.stdout))) throw busy(ended);
  return ended;
};

/** A maintainer script cannot ask debconf while the administrator answers questions of another package. */
const DEBCONF_LOCKED = /^debconf: .* is locked by another process/m;

/** dpkg asks about a conffile that was changed on the host and in the package. */
const conffileOptions = ({ conffiles }: DebsRequest): readonly string[] =>
  conffiles === 'keep' ? ['--force-confdef', '--force-confold'] : ['--force-confnew', '--force-confmiss'];

const markings = (verb: 'hold' | 'unhold', names: readonly string[]): readonly (readonly string[])[] =>
  names.length > 0 ? [['apt-mark', verb, ...names]] : [];

/** apt removed the packages; purging removes their conffiles and data. */
const purges = ({ remove }: DebsRequest, dpkg: Dpkg): readonly string[] =>
  remove.filter(({ name, purge }) => purge && dpkg.has(name)).map(({ name }) => name);

const POLL_SECONDS = 2;

/** Runs a program that does not wait for the locks of dpkg and debconf again until it gets them. @throws FleetError BUSY */
const unlocked = async (
  apt: Apt,
  argv: readonly string[],
  perform: typeof runSealed = runQuietly,
): Promise<CommandResult> => {
  for (let waited = 0; ; waited += POLL_SECONDS) {
    const result = await perform(apt, argv);
    if (result.code === 0 || !isLocked(result)) return result;
    if (waited >= apt.lockSeconds) throw busy(result);
    await setTimeout(POLL_SECONDS * 1000, undefined, { signal: apt.signal }).catch(() => undefined);
  }
};

const isLocked = ({ stderr }: CommandResult): boolean =>
  /could not get lock|unable to (?:acquire|lock)|is locked by another process|lock was locked/i.test(stderr);

const busy = (ended: CommandResult): FleetError =>
  new FleetError('BUSY', `another program on this host has locked dpkg: ${fatalError(ended)}`, {
    hint: 'The agent tries again; apt, dpkg and unattended-upgrades are the usual ones',
  });

/** Where invoke-rc.d and deb-systemd-invoke ask whether they may start a service (invoke-rc.d(8)). */
const POLICY = '/usr/sbin/policy-rc.d';
/** 101: the action is forbidden by policy. */
const DENY = '#!/bin/sh\n# Written by fleet-agent for one step.\nexit 101\n';

/**
 * Runs work while maintainer scripts neither start nor stop services. A policy of the administrator is left in force; one that a
 * power cut left behind is removed afterwards.
 */
const withoutServices = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    await writeFile(POLICY, DENY, { flag: 'wx', mode: 0o755 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST'))
      throw hostError(error, `writing ${POLICY}`);
  }
  try {
    return await work();
  } finally {
    if ((await readFile(POLICY, 'utf8').catch(() => '')) === DENY) await rm(POLICY, { force: true });
  }
};
