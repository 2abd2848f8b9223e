/**
 * `npm test`: gets the real parts that this machine can have, runs the tests against them, runs files with a failed test again, and
 * ends with one line of counts. Where parts have to be built first, the tests that need none run beside that. `--project <name>` (repeatable) runs only unit, component, integration or e2e; other words go to vitest as they are.
 */
import { chmod } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPrograms, buildTestPrograms } from './run/build-programs.ts';
import { bundleAgent } from './run/bundle-agent.ts';
import { countResults, formatCounts } from './run/count-results.ts';
import type { Machine } from './parts/part.ts';
import {
  findPart,
  type Found,
  installPart,
  isBuilt,
  isOfEveryRun,
  PART_NAMES,
  type PartName,
  partFacts,
  partTitle,
  thisMachine,
} from './parts.ts';
import { LONG } from './run/long.ts';
import { markInUse } from './run/mark-in-use.ts';
import { PROGRAMS_VARIABLE } from './run/program-file.ts';
import { joinRuns } from './run/join-runs.ts';
import { recordRun } from './run/record-run.ts';
import { runFailedAgain } from './run/run-again.ts';
import { runVitest, type VitestRun } from './run/run-vitest.ts';
import { temporaryDirectory } from './run/temporary-directory.ts';

const PROJECTS = ['unit', 'component', 'integration', 'e2e'] as const;

/** Their tests need nothing but vitest. */
const IN_PROCESS: readonly string[] = ['unit', 'component'];

/** Go's compiler spends a quarter of its time on garbage; and with one flag for all programs, what they have in common is compiled once. */
const GO_BUILDS = { GOGC: '400', GOFLAGS: '-trimpath' };

const say = (line: string): void => console.log(line);

const main = async (words: readonly string[]): Promise<number> => {
  const { projects, rest } = readArguments(words);
  const machine = thisMachine();
  await using _inUse = await markInUse(machine.repository);
  const [first, second] = planRuns(projects, machine);
  const needsParts = second.some((project) => !IN_PROCESS.includes(project));
  await using programs = await temporaryDirectory('programs');
  // Some tests start them as another user.
  await chmod(programs.path, 0o755);
  const built = { [PROGRAMS_VARIABLE]: programs.path };
  const vitest = (of: readonly string[], env: NodeJS.ProcessEnv, words = rest): Promise<VitestRun> => {
    say(`Running the ${of.join(', ')} tests with Node ${process.versions.node}.`);
    return runVitest({
      repository: machine.repository,
      cwd: machine.repository,
      env: { ...machine.env, ...env },
      output: 'inherit',
      words: [...of.flatMap((project) => ['--project', project]), ...words],
    });
  };
  const [beside, facts] = await Promise.all([
    first.length === 0 ? undefined : vitest(first, {}),
    needsParts ? gatherParts(machine) : {},
  ]);
  if (needsParts)
    await Promise.all([
      buildPrograms(programs.path),
      buildTestPrograms(programs.path),
      bundleAgent(join(programs.path, 'agent')),
    ]);
  const env = { ...facts, ...(needsParts && built) };
  const last = await vitest(second, env);
  const run = beside === undefined ? last : joinRuns(beside, last);
  const { report, exitCode, unsteady } = await runFailedAgain(run, (file) => {
    say(`Running again, alone: ${relative(machine.repository, file)}`);
    return vitest(projects, env, [file]);
  });
  if (report !== undefined && rest.length === 0 && projects.length === PROJECTS.length) {
    const file = await recordRun(report, partsOfThisRun(), { ...machine, env: { ...machine.env, ...facts } });
    say(`Which versions these tests ran against: ${file}`);
  }
  const counts = countResults(report, exitCode);
  for (const [title, number] of counts.skippedTitles) say(`Skipped (${number}): ${title}`);
  for (const title of unsteady)
    say(
      `Unsteady (1): ${relative(machine.repository, title)} (failed, then passed alone: a bug to be mended)`,
    );
  if (report === undefined) say('vitest ended without a report of its results: see what it said above.');
  else if (report.testResults.length === 0) say('No test was found.');
  console.log(formatCounts(counts));
  return counts.failed === 0 ? 0 : 1;
};

const readArguments = (
  words: readonly string[],
): { projects: readonly string[]; rest: readonly string[] } => {
  const { values, tokens } = parseArgs({
    args: [...words],
    options: { project: { type: 'string', multiple: true } },
    strict: false,
    tokens: true,
  });
  const ours = new Set(
    tokens.flatMap((token) => {
      if (token.kind !== 'option' || token.name !== 'project') return [];
      return token.inlineValue === false ? [token.index, token.index + 1] : [token.index];
    }),
  );
  const asked = (values['project'] ?? []).filter((project) => typeof project === 'string');
  return {
    projects: asked.length === 0 ? PROJECTS : asked,
    rest: words.filter((_, index) => !ours.has(index)),
  };
};

/**
 * What runs first, beside the parts that have to be built, and what then. Where none has to be, everything is one run: vitest fills its
 * lanes better.
 */
const planRuns = (
  projects: readonly string[],
  machine: Machine,
): readonly [readonly string[], readonly string[]] => {
  const alone = projects.filter((project) => IN_PROCESS.includes(project));
  const others = projects.filter((project) => !IN_PROCESS.includes(project));
  const areBuilt = partsOfThisRun().some((name) => isBuilt(name) && !findPart(name, machine).present);
  return others.length > 0 && areBuilt ? [alone, others] : [[], projects];
};

const partsOfThisRun = (): readonly PartName[] => PART_NAMES.filter((name) => LONG || isOfEveryRun(name));

const gatherParts = async (machine: Machine): Promise<Record<string, string>> => {
  say(`Looking for the real parts that the tests talk to (kept in ${machine.cache}).`);
  const found: Partial<Record<PartName, Found>> = {};
  const builder = { ...machine, env: { ...GO_BUILDS, ...machine.env } };
  const gather = async (names: readonly PartName[]): Promise<void> => {
    for (const name of names) {
      const start = performance.now();
      const fact = await installPart(name, builder, (source) =>
        say(`  ${partTitle(name)}: getting ${source} ...`),
      );
      const seconds = ((performance.now() - start) / 1000).toFixed(1);
      if (fact.present) say(`  ${partTitle(name)}: ${fact.path} (${seconds} s)`);
      else say(`  ${partTitle(name)}: absent, so the tests that need it are skipped. ${fact.reason}`);
      found[name] = fact;
    }
  };
  const asked = partsOfThisRun();
  // Builds wait for the processor and downloads for the network; two of apt would wait for each other.
  await Promise.all([
    gather(asked.filter((name) => isBuilt(name))),
    gather(asked.filter((name) => !isBuilt(name))),
  ]);
  return partFacts(found);
};

process.exitCode = await main(process.argv.slice(2));
