import { unreachable } from '../../unreachable.ts';
import { type CharacterTest, isWordCharacter } from './classes.ts';
import { type Assertion, type Expression, parsePattern, RegexpError } from './syntax.ts';

/** One instruction of the automaton; numbers are addresses. */
type Instruction =
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'assert'; readonly what: Assertion }
  | { readonly kind: 'save'; readonly slot: number }
  | { kind: 'fork'; first: number; second: number }
  | { kind: 'jump'; to: number }
  | { readonly kind: 'match' };

export type Regexp = {
  readonly program: readonly Instruction[];
  readonly groups: readonly (string | undefined)[];
};

/** Where the groups start and end, as UTF-16 offsets: start and end of the whole match, then of group 1 ... */
export type Match = readonly (number | undefined)[];

/** Told how many instructions are about to run. */
type Spend = (steps: number) => void;

const MAX_PROGRAM = 20_000;

/** @throws RegexpError when the expression is wrong or too large */
export const compileRegexp = (source: string): Regexp => {
  const { expression, groups } = parsePattern(source);
  const program: Instruction[] = [];
  const emit = <T extends Instruction>(instruction: T): T => {
    if (program.length >= MAX_PROGRAM) throw new RegexpError('the regular expression is too large');
    program.push(instruction);
    return instruction;
  };
  const fork = (): Extract<Instruction, { kind: 'fork' }> => emit({ kind: 'fork', first: 0, second: 0 });
  const aim = (
    target: Extract<Instruction, { kind: 'fork' }>,
    greedy: boolean,
    into: number,
    past: number,
  ): void => {
    target.first = greedy ? into : past;
    target.second = greedy ? past : into;
  };

  const repeat = ({ of, min, max, greedy }: Extract<Expression, { kind: 'repeat' }>): void => {
    if (max === Infinity && min === 0 && !isNullable(of)) {
      const start = program.length;
      const loop = fork();
      generate(of);
      emit({ kind: 'jump', to: start });
      aim(loop, greedy, start + 1, program.length);
      return;
    }
    if (max === Infinity) {
      // What may match nothing is repeated at least once or left out, for the order of the matches to be right.
      const skip = min === 0 ? fork() : undefined;
      const into = program.length;
      for (let times = 1; times < min; times += 1) generate(of);
      const start = program.length;
      generate(of);
      const loop = fork();
      aim(loop, greedy, start, program.length);
      if (skip) aim(skip, greedy, into, program.length);
      return;
    }
    for (let times = 0; times < min; times += 1) generate(of);
    const forks = [];
    for (let times = min; times < max; times += 1) {
      forks.push([fork(), program.length] as const);
      generate(of);
    }
    for (const [one, into] of forks) aim(one, greedy, into, program.length);
  };

  const choose = (of: readonly Expression[]): void => {
    const jumps: Extract<Instruction, { kind: 'jump' }>[] = [];
    of.forEach((option, index) => {
      if (index === of.length - 1) {
        generate(option);
        return;
      }
      const one = fork();
      const into = program.length;
      generate(option);
      jumps.push(emit({ kind: 'jump', to: 0 }));
      aim(one, true, into, program.length);
    });
    for (const jump of jumps) jump.to = program.length;
  };

  const generate = (expression: Expression): void => {
    switch (expression.kind) {
      case 'empty':
        return;
      case 'character':
      case 'assert':
        emit(expression);
        return;
      case 'sequence':
        expression.of.forEach(generate);
        return;
      case 'choice':
        choose(expression.of);
        return;
      case 'group':
        emit({ kind: 'save', slot: expression.index * 2 });
        generate(expression.of);
        emit({ kind: 'save', slot: expression.index * 2 + 1 });
        return;
      case 'repeat':
        repeat(expression);
    }
  };

  generate(expression);
  emit({ kind: 'match' });
  return { program, groups };
};

/** May the expression match without reading a character? */
const isNullable = (expression: Expression): boolean => {
  switch (expression.kind) {
    case 'empty':
    case 'assert':
      return true;
    case 'character':
      return false;
    case 'sequence':
      return expression.of.every(isNullable);
    case 'choice':
      return expression.of.some(isNullable);
    case 'group':
      return isNullable(expression.of);
    case 'repeat':
      return expression.min === 0 || isNullable(expression.of);
  }
  return unreachable(expression);
};

type Around = { readonly before: number | undefined; readonly after: number | undefined };

const holds = (what: Assertion, { before, after }: Around): boolean => {
  switch (what) {
    case 'textStart':
      return before === undefined;
    case 'textEnd':
      return after === undefined;
    case 'lineStart':
      return before === undefined || before === 10;
    case 'lineEnd':
      return after === undefined || after === 10;
    case 'word':
      return isWordCharacter(before) !== isWordCharacter(after);
    case 'notWord':
      return isWordCharacter(before) === isWordCharacter(after);
  }
  return unreachable(what);
};

type Thread = { readonly address: number; readonly saved: Match };

/**
 * The leftmost match from `from` on, with the groups a backtracking matcher would find first. All ways are followed at
 * once (Thompson's construction with Pike's groups), so the time is text times program, whatever the expression.
 */
export const findMatch = (
  { program }: Regexp,
  text: string,
  from: number,
  spend: Spend,
): Match | undefined => {
  let threads: Thread[] = [];
  let found: Match | undefined;
  let at = from;
  let before = from === 0 ? undefined : codeBefore(text, from);
  const visited = new Uint32Array(program.length);
  let generation = 0;

  /** Follows everything that reads no character, first choices first. */
  const follow = (start: Thread, into: Thread[], around: Around): void => {
    const pending = [start];
    for (let thread = pending.pop(); thread; thread = pending.pop()) {
      const { address, saved } = thread;
      if (visited[address] === generation) continue;
      visited[address] = generation;
      const instruction = program[address];
      switch (instruction?.kind) {
        case 'jump':
          pending.push({ address: instruction.to, saved });
          break;
        case 'fork':
          pending.push({ address: instruction.second, saved }, { address: instruction.first, saved });
          break;
        case 'save':
          pending.push({ address: address + 1, saved: withSlot(saved, instruction.slot, at) });
          break;
        case 'assert':
          if (holds(instruction.what, around)) pending.push({ address: address + 1, saved });
          break;
        case 'character':
        case 'match':
          into.push(thread);
          break;
        case undefined:
          break;
      }
    }
  };

  for (;;) {
    const after = at < text.length ? text.codePointAt(at) : undefined;
    if (threads.length === 0 && found) return found;
    generation += 1;
    const current: Thread[] = [];
    const around = { before, after };
    for (const thread of threads) follow(thread, current, around);
    if (!found) follow({ address: 0, saved: [at] }, current, around);
    spend(1 + current.length);
    threads = [];
    for (const { address, saved } of current) {
      const instruction = program[address];
      if (instruction?.kind === 'match') {
        // Later threads are second choices: they are dropped.
        found = withSlot(saved, 1, at);
        break;
      }
      if (after !== undefined && instruction?.kind === 'character' && instruction.test(after))
        threads.push({ address: address + 1, saved });
    }
    if (after === undefined) return found;
    before = after;
    at += after > 0xffff ? 2 : 1;
  }
};

const withSlot = (saved: Match, slot: number, at: number): Match => {
  const copy = [...saved];
  copy[slot] = at;
  return copy;
};

const codeBefore = (text: string, at: number): number | undefined => {
  const low = text.charCodeAt(at - 1);
  return low >= 0xdc00 && low <= 0xdfff && at > 1 ? text.codePointAt(at - 2) : low;
};

/** All matches that do not overlap; as in Go, an empty one right behind another match does not count. */
export const findMatches = (regexp: Regexp, text: string, limit: number, spend: Spend): Match[] => {
  const matches: Match[] = [];
  let end = -1;
  for (let at = 0; at <= text.length && matches.length < limit; ) {
    const match = findMatch(regexp, text, at, spend);
    if (!match) break;
    const [start = 0, stop = 0] = match;
    if (stop > start || start !== end) matches.push(match);
    end = stop;
    at = stop > start ? stop : start + ((text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
  }
  return matches;
};
