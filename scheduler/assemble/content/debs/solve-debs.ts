import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { isStartFailure, runProcess, type ProcessResult } from '#bundles/run-process';
import { withoutSecrets } from '#bundles/without-secrets';
import { findProgram } from '../../../load/applications/tools/find-program.ts';
import { workFolder } from '../../../load/applications/tools/work-folder.ts';
import type { DebianBase } from '../../../model/debian-base.ts';
import type { LockedContent } from '../../../model/content-locks.ts';

/** A package that apt would download: its address, and the digest and size from the signed index. */
export type SolvedDeb = LockedContent & { readonly url: string };

/** All packages that must be added to the base, sorted by address. `packages`: 'name' or 'name=version'. */
export type SolveDebs = (packages: readonly string[], signal: AbortSignal) => Promise<readonly SolvedDeb[]>;

const LIMITS = { milliseconds: 600_000, bytes: 16 << 20 };

/** Read before any other configuration of apt: it names no further files, so that /etc/apt of this machine is never read. */
const APT_CONFIG = 'Dir::Etc::main "/dev/null";\nDir::Etc::parts "/dev/null";\n';

/**
 * Solves dependencies by apt-get in a folder of its own. Packages, sources, keys and apt configuration of this machine have no
 * effect; a proxy is taken from `env` (http_proxy, https_proxy). Package lists are fetched once and verified by apt against the keys
 * of the sources.
 * @throws FleetError TOOL_MISSING without apt-get, SOURCE_UNREACHABLE if the lists cannot be fetched or verified, CONTENT_INVALID with
 * apt's explanation if there is no solution that keeps every package of the base
 */
export const openDebSolver = (
  base: DebianBase,
  env: Readonly<Record<string, string | undefined>>,
): SolveDebs & AsyncDisposable => {
  let opening: Promise<Apt> | undefined;
  const solve = async (packages: readonly string[], signal: AbortSignal): Promise<readonly SolvedDeb[]> => {
    const { run } = await (opening ??= openApt(base, env, signal));
    const recommends = base.recommends ? '--install-recommends' : '--no-install-recommends';
    const solved = await run(
      ['--yes', '--no-remove', '--print-uris', recommends, 'install', ...packages],
      signal,
    );
    if (solved.code !== 0) {
      throw new FleetError(
        'CONTENT_INVALID',
        `apt finds no way to install ${packages.join(', ')} on ${base.name}: ${explanation(solved)}`,
        { hint: 'Check the names and versions, and the sources and status of the DebianBase', at: base.at },
      );
    }
    return readAddresses(solved.stdout.toString('utf8'));
  };
  return Object.assign(solve, {
    [Symbol.asyncDispose]: async () => {
      const apt = await opening?.catch(() => undefined);
      await apt?.close();
    },
  });
};

type Apt = {
  readonly run: (args: readonly string[], signal: AbortSignal) => Promise<ProcessResult>;
  readonly close: () => PromiseLike<void>;
};

const openApt = async (
  base: DebianBase,
  env: Readonly<Record<string, string | undefined>>,
  signal: AbortSignal,
): Promise<Apt> => {
  const program = await findProgram('apt-get', env['PATH'] ?? '');
  if (program === undefined) {
    throw new FleetError('TOOL_MISSING', `DebianBase ${base.name} needs the program apt-get`, {
      at: base.at,
      hint: 'Run images lock on Debian or Ubuntu; the build needs no apt-get',
    });
  }
  const work = await workFolder([
    ['etc/apt/sources.list.d/base.sources', Buffer.from(base.sources)],
    ['var/lib/dpkg/status', Buffer.from(base.status)],
    ['apt.conf', Buffer.from(APT_CONFIG)],
  ]);
  try {
    const root = work.files;
    for (const folder of [
      'var/lib/apt/lists/partial',
      'var/cache/apt/archives/partial',
      'etc/apt/preferences.d',
    ])
      await mkdir(join(root, folder), { recursive: true });
    const options = [
      `Dir=${root}`,
      `Dir::State::status=${join(root, 'var/lib/dpkg/status')}`,
      `APT::Architecture=${base.architecture}`,
      `APT::Architectures=${base.architecture}`,
      'Acquire::ForceHash=SHA256',
      'Acquire::Languages=none',
      'Debug::NoLocking=true',
      // apt drops root for a user who could not read this folder.
      'APT::Sandbox::User=',
    ].flatMap((option) => ['-o', option]);
    const run: Apt['run'] = async (args, within) => {
      const result = await runProcess([program, ...options, '--quiet', ...args], {
        env: {
          ...withoutSecrets(env),
          LC_ALL: 'C',
          DEBIAN_FRONTEND: 'noninteractive',
          APT_CONFIG: join(root, 'apt.conf'),
        },
        cwd: root,
        signal: within,
        timeoutMs: LIMITS.milliseconds,
        maxOutput: LIMITS.bytes,
      }).catch((error: unknown) => {
        if (!isStartFailure(error)) throw error;
        throw new FleetError('IO', `apt-get could not be started: ${String(error)}`, { cause: error });
      });
      if (result.stopped === undefined) return result;
      throw new FleetError('SOURCE_UNREACHABLE', `apt-get takes longer or writes more than allowed`, {
        at: base.at,
        hint: 'Check the addresses of the sources',
      });
    };
    const updated = await run(['--error-on=any', 'update'], signal);
    if (updated.code !== 0) {
      throw new FleetError(
        'SOURCE_UNREACHABLE',
        `apt cannot use the package sources of DebianBase ${base.name}: ${explanation(updated)}`,
        { at: base.at, hint: 'Check the addresses, suites and Signed-By of its sources' },
      );
    }
    return { run, close: () => work[Symbol.asyncDispose]() };
  } catch (error) {
    await work[Symbol.asyncDispose]();
    throw error;
  }
};

/** Lines with reasons, without the prefixes and general advice of apt: 'broken : Depends: nothere but it is not installable'. */
const explanation = ({ stdout, stderr }: ProcessResult): string => {
  const detail = stdout
    .toString('utf8')
    .split('\n')
    .filter((line) => /^ .*: (?:Pre)?-?(?:Depends|Conflicts|Breaks|Recommends)/.test(line));
  const errors = stderr.split('\n').flatMap((line) => /^[EW]: (.*)$/.exec(line)?.[1] ?? []);
  const lines = (detail.length > 0 ? detail : errors).map((line) => line.trim().replaceAll(/\s+/g, ' '));
  return lines.slice(0, 5).join('; ') || 'it gives no reason';
};

/** Lines like `'http://deb.example/pool/x_1_all.deb' x_1_all.deb 660 SHA256:9aa4...`. */
const readAddresses = (out: string): readonly SolvedDeb[] =>
  out
    .split('\n')
    .filter((line) => line.startsWith("'"))
    .map((line) => {
      const found = /^'([^']+)' \S+ (\d+) SHA256:([0-9a-f]{64})$/.exec(line.trim());
      if (!found)
        throw new FleetError('CONTENT_INVALID', `apt gives no SHA-256 for ${JSON.stringify(line)}`, {
          hint: 'The package source is too old or incomplete; use one whose index has SHA256 fields',
        });
      const [, url, size, hex] = found as unknown as readonly [string, string, string, string];
      const digest: Digest = `sha256:${hex}`;
      return { url, size: Number(size), digest };
    })
    .toSorted((a, b) => (a.url < b.url ? -1 : 1));
