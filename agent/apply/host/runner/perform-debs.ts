import { readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { FleetError } from '#bundles/errors';
import { type Apt, aptGet, runQuietly } from '../debs/apt.ts';
import { readDpkg } from '../debs/dpkg-state.ts';
import { describeChange, firstError, goalOfChange, simulateApt, wordsOf } from '../debs/simulate-apt.ts';
import type { CommandResult } from '../host-options.ts';
import { performHook } from './perform-hook.ts';
import type { StepEnd, StepWork } from './perform-request.ts';
import type { DebHook, DebsRequest } from '../step-request.ts';
import { hostError } from '../host-error.ts';

/**
 * Brings dpkg to the goal: repairs an interrupted dpkg, checks that apt still plans the announced changes, and runs one transaction
 * between the hooks. Repeating it changes nothing. @throws FleetError BUSY while another program holds the locks of dpkg; DEB_UNMET; ABORTED
 */
export const performDebs = async (request: DebsRequest, work: StepWork): Promise<StepEnd> => {
  const { content: repository, scratch, run, signal } = work;
  const apt: Apt = { run, signal, repository, scratch, lockSeconds: request.lockSeconds };
  // Fails as long as the package that interrupted it is broken, which the transaction may replace.
  await unlocked(apt, ['dpkg', ...conffileOptions(request), '--configure', '-a']);
  // After a power cut an upgrade may be under way: then the data was saved before.
  const dpkg = await unpackAgain(apt, request, await readDpkg(apt));
  const changes = hasGoal(request) ? await simulateApt(apt, request) : [];
  const announced = new Set(request.changes);
  const surprise = changes.find((change) => !announced.has(goalOfChange(change)));
  if (surprise !== undefined)
    return {
      code: 1,
      stdout: '',
      stderr: '',
      message: `the host changed since this was planned: ${describeChange(surprise)}`,
    };
  const isUntouched = ({ package: name, from }: DebHook): boolean => {
    const state = dpkg.get(name);
    return state?.status === 'installed' && state.version === from;
  };
  const before = request.hooks.filter((hook) => hook.when === 'before' && isUntouched(hook));
  const after = request.hooks.filter((hook) => hook.when !== 'before');
  return inTurn([
    ...before.map((hook) => () => performHook(hook, work)),
    () => installAndRemove(apt, request, dpkg),
    ...after.map((hook) => () => performHook(hook, work)),
  ]);
};

/**
 * Unpacks packages of the goal that a power cut left half installed, or marked to be installed again. apt would configure one of them, or
 * what depends on it, first, which fails. A failure here is apt's to report. @returns the state of dpkg afterwards
 */
const unpackAgain = async (apt: Apt, request: DebsRequest, dpkg: Dpkg): Promise<Dpkg> => {
  const left = request.install.filter(({ name }) => {
    const state = dpkg.get(name);
    return state?.unpackAgain === true || state?.word === 'half-installed';
  });
  if (left.length === 0) return dpkg;
  const index = await readFile(join(apt.repository, 'Packages'), 'utf8');
  const files = left.flatMap(({ name, version }) => {
    const entry = index.split('\n\n').find((one) => isEntryOf(one, name, version));
    const [, file] = /^Filename: (\S+)$/m.exec(entry ?? '') ?? [];
    return file === undefined ? [] : [join(apt.repository, file)];
  });
  if (files.length === 0) return dpkg;
  await unlocked(apt, ['dpkg', ...conffileOptions(request), '--unpack', ...files]);
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

const installAndRemove = async (apt: Apt, request: DebsRequest, before: Dpkg): Promise<StepEnd> => {
  const ended = await transact(apt, request);
  if (ended.code !== 0) return { ...ended, message: whyFailed(ended) };
  for (const words of [
    ...markings('hold', request.hold),
    ...markings('unhold', request.unhold),
    ...purges(request, await readDpkg(apt)),
  ]) {
    const after = await unlocked(apt, words);
    if (after.code !== 0) return { ...after, message: whyFailed(after) };
  }
  const dpkg = await readDpkg(apt);
  return { ...ended, message: notReached(dpkg, request) ?? disappeared(before, dpkg, request) };
};

/** dpkg removes a package when others replaced all its files, and apt does not announce it. */
const disappeared = (before: Dpkg, dpkg: Dpkg, { remove }: DebsRequest): string | undefined => {
  const meant = new Set(remove.map(({ name }) => name));
  const gone = [...before].find(
    ([name, { status }]) => status === 'installed' && !meant.has(name) && !dpkg.has(name),
  );
  return gone && `${gone[0]} ${gone[1].version} disappeared: packages of the release replaced all its files`;
};

const transact = async (apt: Apt, request: DebsRequest): Promise<CommandResult> => {
  if (!hasGoal(request)) return { code: 0, stdout: '', stderr: '' };
  if (request.debconf.length > 0) {
    const answers = ['sh', '-c', 'printf "%s\\n" "$@" | debconf-set-selections', 'sh', ...request.debconf];
    const told = await unlocked(apt, answers);
    if (told.code !== 0) return told;
  }
  const install = () =>
    aptGet(
      apt,
      [
        '--yes',
        ...conffileOptions(request).flatMap((one) => ['-o', `Dpkg::Options::=${one}`]),
        ...wordsOf(request),
      ],
      { [request.conffiles === 'keep' ? 'UCF_FORCE_CONFFOLD' : 'UCF_FORCE_CONFFNEW']: '1' },
    );
  const ended = request.services === 'leave' ? await withoutServices(install) : await install();
  if (ended.code !== 0 && isLocked(ended)) throw busy(ended);
  return ended;
};

/** dpkg asks about a conffile that was changed on the host and in the package. */
const conffileOptions = ({ conffiles }: DebsRequest): readonly string[] =>
  conffiles === 'keep' ? ['--force-confdef', '--force-confold'] : ['--force-confnew', '--force-confmiss'];

const markings = (verb: 'hold' | 'unhold', names: readonly string[]): readonly (readonly string[])[] =>
  names.length > 0 ? [['apt-mark', verb, ...names]] : [];

/** apt removed the packages; purging removes their conffiles and data. */
const purges = ({ remove }: DebsRequest, dpkg: Dpkg): readonly (readonly string[])[] => {
  const names = remove.filter(({ name, purge }) => purge && dpkg.has(name)).map(({ name }) => name);
  return names.length > 0 ? [['dpkg', '--purge', ...names]] : [];
};

/** The first package that is not as the goal says: apt ends with 0 for some hooks that failed. */
const notReached = (dpkg: Dpkg, { install, remove }: DebsRequest): string | undefined => {
  const missed = install.find(({ name, version }) => {
    const state = dpkg.get(name);
    return state?.status !== 'installed' || state.version !== version;
  });
  if (missed) {
    const state = dpkg.get(missed.name);
    return `${missed.name} is ${state ? `${state.word} ${state.version}` : 'missing'}, not installed at ${missed.version}`;
  }
  const left = remove.find(({ name }) => dpkg.get(name)?.status === 'installed');
  return left && `${left.name} is still installed`;
};

const POLL_SECONDS = 2;

/** Runs a program that does not wait for the locks of dpkg and debconf again until it gets them. @throws FleetError BUSY */
const unlocked = async (apt: Apt, argv: readonly string[]): Promise<CommandResult> => {
  for (let waited = 0; ; waited += POLL_SECONDS) {
    const result = await runQuietly(apt, argv);
    if (result.code === 0 || !isLocked(result)) return result;
    if (waited >= apt.lockSeconds) throw busy(result);
    await setTimeout(POLL_SECONDS * 1000, undefined, { signal: apt.signal }).catch(() => undefined);
  }
};

const isLocked = ({ stderr }: CommandResult): boolean =>
  /could not get lock|unable to (?:acquire|lock)|is locked by another process|lock was locked/i.test(stderr);

const busy = ({ stderr }: CommandResult): FleetError =>
  new FleetError('BUSY', `another program of this host works with dpkg: ${firstError(stderr)}`);

/** Names the package: 'hello: installed hello package post-installation script subprocess returned error exit status 1'. */
const whyFailed = ({ stdout, stderr, code }: CommandResult): string => {
  // apt runs dpkg on a pseudo-terminal: the output of dpkg and maintainer scripts is in apt's standard output.
  const found = /dpkg: error processing (?:package|archive) (\S+) \([^)]*\):\r?\n\s*(.+)/.exec(
    `${stderr}\n${stdout}`,
  );
  if (found) {
    // A package that fails before it is unpacked is named by its file: 'hello_2.10_all.deb'.
    const [name] = basename(found[1] ?? '').split('_');
    return `${name}: ${found[2]?.trim()}`;
  }
  return stderr.trim() === '' ? `apt ended with ${code}` : firstError(stderr);
};

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
