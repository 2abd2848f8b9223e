import { describe, expect, it } from 'vitest';
import { chooseCommands, loadCommands } from '#cli/commands';
import { COMMANDS } from '../fixtures/program/commands.ts';

const IDS = ['approvals', 'approvals:export', 'create', 'reports:export', 'reports:import'];

describe('the command modules for a command line', () => {
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
  ])('%j loads only these', (line, found) => {
    expect(chooseCommands(IDS, line.split(' ').filter(Boolean))).toEqual(found);
  });

  it('are imported when they are needed, unless they are loaded', async () => {
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
