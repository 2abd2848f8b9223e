import { describe, expect, it } from 'vitest';
import { chooseCommands, loadCommands } from '#cli/commands';
import { COMMANDS } from '../fixtures/program/commands.ts';

const IDS = ['approvals', 'approvals:export', 'create', 'reports:export', 'reports:import'];

describe('the verbs that a command line is about', () => {
  it.each([
    ['create --to stick', ['create']],
    ['reports export stick', ['reports:export']],
    ['reports:export stick', ['reports:export']],
    ['reports', ['reports:export', 'reports:import']],
    ['reports nope', ['reports:export', 'reports:import']],
    ['approvals', ['approvals', 'approvals:export']],
    ['--help', IDS],
    ['', IDS],
    ['--version', []],
    ['nope', []],
    ['nope create', []],
  ])('of %j are all that is loaded', (line, found) => {
    expect(chooseCommands(IDS, line.split(' ').filter(Boolean))).toEqual(found);
  });

  it('are loaded from where they are, or there already', async () => {
    const loaded: string[] = [];
    const later = (name: string) => async () => {
      loaded.push(name);
      return { default: COMMANDS.greet };
    };
    const commands = { now: COMMANDS.greet, later: later('later'), never: later('never') };
    expect(await loadCommands(commands, ['now', 'later'])).toEqual({
      now: COMMANDS.greet,
      later: COMMANDS.greet,
    });
    expect(loaded).toEqual(['later']);
  });
});
