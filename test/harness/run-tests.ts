/**
 * `npm test`: gets the real parts that this machine can have, runs the tests against them, runs files with a failed test again, and
 * ends with one line of counts. `--project <name>` (repeatable) runs only unit, component, integration or e2e; other words go to vitest as they are.
 */
import { chmod } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { buildPrograms, buildTestPrograms } from './run/build-programs.ts';
import { bundleAgent } from './run/bundle-agent.ts';
import { countResults, formatCounts } from './run/count-results.ts';
import type { Machine } from './parts/part.ts';
import {
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
import { PROGRAMS_VARIABLE } from './run/program-file.ts';
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
  const needsParts = projects.some((project) => !IN_PROCESS.includes(project));
  const facts = needsParts ? await gatherParts(machine) : {};
  say(`Running the ${projects.join(', ')} tests with Node ${process.versions.node}.`);
  await using programs = await temporaryDirectory('programs');
  // Some tests start them as another user.
  await chmod(programs.path, 0o755);
  const built = { [PROGRAMS_VARIABLE]: programs.path };
  if (needsParts)
    await Promise.all([
      buildPrograms(programs.path),
      buildTestPrograms(programs.path),
      bundleAgent(join(programs.path, 'agent')),
    ]);
  const vitest = (words: readonly string[]): Promise<VitestRun> =>
    runVitest({
      repository: machine.repository,
      cwd: machine.repository,
      env: { ...machine.env, ...facts, ...(needsParts && built) },
      output: 'inherit',
      words: [...projects.flatMap((project) => ['--project', project]), ...words],
    });
  const { report, exitCode, unsteady } = await runFailedAgain(await vitest(rest), (file) => {
    say(`Running again, alone: ${relative(machine.repository, file)}`);
    return vitest([file]);
  });
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
  const asked = PART_NAMES.filter((name) => LONG || isOfEveryRun(name));
  // Builds wait for the processor and downloads for the network; two of apt would wait for each other.
  await Promise.all([
    gather(asked.filter((name) => isBuilt(name))),
    gather(asked.filter((name) => !isBuilt(name))),
  ]);
  return partFacts(found);
};

process.exitCode = await main(process.argv.slice(2));
