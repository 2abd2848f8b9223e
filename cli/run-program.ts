import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';
import { Errors, run } from '@oclif/core';
import { FleetError, formatError, plainText, toFleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { didYouMean } from '#bundles/nearest-name';
import { chooseCommands, type Commands, leadingWords, loadCommands } from './commands.ts';
import { errorJson, usageError } from './fleet-command.ts';
import { loadConfig, type Program } from './load-config.ts';
import { suggestFlag } from './suggest-flag.ts';
import { paint } from './paint.ts';

/**
 * Milliseconds for a connection to one address of a name that has further addresses. Node's default of 250 ms is shorter than a round trip
 * by satellite, so that a name with one unreachable address is never reached. Clients wait ten seconds for a connection, which is enough for
 * three addresses; within each attempt TCP repeats a lost packet once.
 */
const CONNECT_ATTEMPT_MS = 2500;

/** Runs one of the three programs: same look, same exit codes. Resolves when the command is done. */
export const runProgram = async (program: Program, argv: readonly string[]): Promise<void> => {
  setDefaultAutoSelectFamilyAttemptTimeout(CONNECT_ATTEMPT_MS);
  const unwritten = endUnlessPiped(program.name);
  process.stdout.prependListener('error', unwritten);
  try {
    const commands = withStandard(program);
    const line = helpLine(argv);
    refuseBareTopic(program.name, Object.keys(commands), line);
    const chosen = await loadCommands(commands, chooseCommands(Object.keys(commands), line));
    const config = await loadConfig(program, chosen);
    // Nothing here ends the process, so written output is flushed anyway; oclif's flush would wait for ever for a
    // reader that is gone, as in `--help | head -1`.
    await run([...line], config);
  } catch (error) {
    if (error instanceof Errors.ExitError) {
      process.exitCode = error.oclif.exit ?? 0;
      return;
    }
    // A command that does not exist never reaches FleetCommand.
    const refusal =
      error instanceof Errors.CLIError ? await unknownCommand(program, error) : toFleetError(error);
    process.exitCode = refusal.exitCode;
    if (argv.includes('--json'))
      process.stdout.write(`${plainText(JSON.stringify(errorJson(refusal), null, 2))}\n`);
    else process.stderr.write(`${paint(`${program.name}: ${formatError(refusal)}`, process.stderr)}\n`);
  } finally {
    // The stream reports the failure of the last line a tick later.
    setImmediate(() => process.stdout.off('error', unwritten));
  }
};

/** Ends the process when the result cannot be written, as on a full disk; a reader that has gone, as `head`, is no fault. */
const endUnlessPiped = (name: string) => (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') return;
  const refusal = toFleetError(error, 'writing to standard output');
  process.stderr.write(`${name}: ${formatError(refusal)}\n`);
  process.exit(refusal.exitCode);
};

/** The verbs of a program, and those that all programs have. */
export const withStandard = (program: Program): Commands => ({
  ...program.commands,
  completion: async () => ({ default: (await import('./completion.ts')).Completion }),
  __complete: async () => {
    const { completeCommand } = await import('./completion.ts');
    return { default: completeCommand({ ...program, commands: withStandard(program) }) };
  },
  help: () => import('./help-command.ts'),
});

/** A topic without one of its verbs is half a command: oclif would show the topic's help and end with 0. @throws FleetError USAGE */
const refuseBareTopic = (name: string, ids: readonly string[], line: readonly string[]): void => {
  const topic = leadingWords(line).join(':');
  if (ids.includes(topic) || line.some((word) => word === '--help' || word === '-h')) return;
  const rest = ids.flatMap((id) => (id.startsWith(`${topic}:`) ? [id.slice(topic.length + 1)] : []));
  if (rest.length === 0) return;
  const words = topic.replaceAll(':', ' ');
  throw new FleetError('USAGE', `${words} is incomplete. It is followed by ${nameSome(rest)}`, {
    hint: `See ${name} ${words} --help`,
  });
};

/** 'help create' is 'create --help'. */
const helpLine = ([verb, ...rest]: readonly string[]): readonly string[] => {
  if (verb === 'help' && rest[0] !== 'exit-codes') return [...rest, '--help'];
  return verb === undefined ? [] : [verb, ...rest];
};

/** oclif joins topic and verb with a colon; the message shows the words as typed. */
const unknownCommand = async (program: Program, error: Errors.CLIError): Promise<FleetError> => {
  const hint = `See ${program.name} --help`;
  const id = /^command (\S+) not found$/.exec(error.message)?.[1];
  if (id === undefined) return usageError(error, hint);
  const words = id.split(':');
  const commands = withStandard(program);
  const verbs = Object.keys(commands).map((verb) => verb.replaceAll(':', ' '));
  const starts = words.map((_, index) => words.slice(0, words.length - index).join(' '));
  const known = starts.find((start) => verbs.includes(start));
  if (known !== undefined) {
    const rest = words.join(' ').slice(known.length + 1);
    const [verb] = Object.values(await loadCommands(commands, [known.replaceAll(' ', ':')]));
    return new FleetError('USAGE', `${known} takes no argument ${JSON.stringify(rest)}`, {
      hint: `${suggestFlag(rest, verb?.flags ?? {})}See ${program.name} ${known} --help`,
    });
  }
  const meant = starts.map((start) => didYouMean(start, verbs)).find((found) => found !== undefined) ?? '';
  return new FleetError('USAGE', `there is no command ${JSON.stringify(words.join(' '))}`, {
    hint: `${meant}${hint}`,
  });
};
