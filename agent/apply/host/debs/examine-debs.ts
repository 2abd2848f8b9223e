import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { Examined } from '../../../model/target.ts';
import type { Run } from '../host-options.ts';
import { type Apt, runQuietly } from './apt.ts';
import { fatalError } from './fatal-error.ts';
import { repairCommands, blocksApt, readDpkg } from './dpkg-state.ts';

type Tools = Pick<Apt, 'run' | 'signal'>;

const NAME = 'dpkg';

/**
 * Examines whether Debian packages can be installed on this host, and names the settings of the administrator that take part in it.
 * Empty on a host without dpkg. Changes nothing.
 */
export const examineDebs = async (run: Run, signal: AbortSignal): Promise<readonly Examined[]> => {
  const tools = { run, signal };
  const findings: Examined[] = [];
  try {
    for (const [name, state] of await readDpkg(tools))
      if (state.status === 'broken')
        findings.push({
          name: NAME,
          verdict: blocksApt(state) ? 'bad' : 'warning',
          message: `${name} is ${state.word}: ${repairCommands(name, state)}`,
        });
  } catch (error) {
    if (isFleetError(error, 'DEB_FAILED')) return [];
    if (!isFleetError(error, 'DEB_BLOCKED')) throw error;
    return [{ name: NAME, verdict: 'bad', message: error.message }];
  }
  // Of these programs, each reads the configuration and does nothing else.
  for (const argv of [
    ['dpkg', '--force-help'],
    ['apt-config', 'dump'],
  ]) {
    const ended = await runQuietly(tools, argv);
    if (ended.code !== 0)
      findings.push({
        name: NAME,
        verdict: 'bad',
        message: `${argv[0]} does not work: ${fatalError(ended)}`,
      });
  }
  const settings = [
    ...(await readAptHooks(tools)),
    ...(await readDpkgSettings()),
    ...(await readUcfSettings()),
    ...(await readDiversions(tools)),
  ];
  if (settings.length > 0)
    findings.push({
      name: NAME,
      verdict: 'warning',
      message: `settings of this host take part when Debian packages are installed: ${settings.join('; ')}`,
    });
  if (findings.length > 0) return findings;
  const message = 'every Debian package is in order, and no setting of the host takes part in installing one';
  return [{ name: NAME, verdict: 'good', message }];
};

const readAptHooks = async (tools: Tools): Promise<readonly string[]> => {
  const hooks = ['DPkg::Pre-Invoke', 'DPkg::Post-Invoke'].map(async (name) => {
    const { stdout } = await runQuietly(tools, ['apt-config', 'dump', '--format', '%v%n', name]);
    return linesOf(stdout).map((command) => `${name} "${command}"`);
  });
  return (await Promise.all(hooks)).flat();
};

/** Options in configuration files that no argument of dpkg takes back (dpkg(1)). */
const DPKG_OPTIONS = /^(?:pre-invoke|post-invoke|status-logger|no-act|dry-run|simulate)\b.*/gm;
const DPKG_FOLDER = '/etc/dpkg/dpkg.cfg.d';

const readDpkgSettings = async (): Promise<readonly string[]> => {
  const names = await readdir(DPKG_FOLDER).catch(() => []);
  const files = [
    ...names.toSorted(compareBytes).map((name) => join(DPKG_FOLDER, name)),
    '/etc/dpkg/dpkg.cfg',
    '/root/.dpkg.cfg',
  ];
  return matchesIn(files, DPKG_OPTIONS);
};

/** A package that uses ucf fails if the host and the release say the opposite. */
const readUcfSettings = (): Promise<readonly string[]> =>
  matchesIn(['/etc/ucf.conf'], /^\s*conf_force_conff(?:old|new)=\S+/gm);

const matchesIn = async (files: readonly string[], pattern: RegExp): Promise<readonly string[]> => {
  const found = files.map(async (file) => {
    const text = await readFile(file, 'utf8').catch(() => '');
    return [...text.matchAll(pattern)].map(([line]) => `"${line.trim()}" of ${file}`);
  });
  return (await Promise.all(found)).flat();
};

/** Files that the administrator has elsewhere than their Debian package says. */
const readDiversions = async (tools: Tools): Promise<readonly string[]> => {
  const { stdout } = await runQuietly(tools, ['dpkg-divert', '--list']);
  return linesOf(stdout).filter((line) => line.startsWith('local diversion'));
};

const linesOf = (text: string): readonly string[] => text.split('\n').filter((line) => line.trim() !== '');
