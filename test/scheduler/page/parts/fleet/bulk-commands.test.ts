import { expect, test } from 'vitest';
import { COMMANDS as EXPORTER } from '../../../../../exporter/commands.ts';
import { COMMANDS as SCHEDULER } from '../../../../../scheduler/commands.ts';
import { BULK } from '../../../../../scheduler/page/parts/fleet/bulk-commands.ts';

const SITES = [
  { name: 'plant-1', channels: ['prod/press'] },
  { name: 'plant-2', channels: ['prod/press', 'prod/till'] },
];
type Command = { readonly default: { readonly flags?: Readonly<Record<string, unknown>> } };
const PROGRAMS: Readonly<Record<string, Readonly<Record<string, () => Promise<unknown>>>>> = {
  'fleet-scheduler': SCHEDULER,
  'fleet-export': EXPORTER,
};

test.each(Object.entries(BULK))(
  'the commands for several sites exist with their flags: %s',
  async (_, bulk) => {
    for (const line of bulk.commands(SITES)) {
      const [program = '', ...words] = line.split(' ');
      const commands = PROGRAMS[program] ?? {};
      const id = [words.slice(0, 2).join(':'), words[0] ?? ''].find((one) => Object.hasOwn(commands, one));
      const load = commands[id ?? ''];
      if (load === undefined) throw new Error(`there is no command ${line}`);
      const { flags = {} } = ((await load()) as Command).default;
      const used = [...line.matchAll(/ --([a-z-]+)/g)].map(([, flag]) => flag);
      expect(Object.keys(flags)).toEqual(expect.arrayContaining(used));
    }
  },
);

test('a follower takes the channel of its site, and a placeholder where the site has several', () => {
  expect(BULK.follow.commands(SITES)).toEqual([
    'fleet-scheduler sites follow plant-1/NAME --by flux --channel prod/press',
    'fleet-scheduler sites follow plant-2/NAME --by flux --channel ENVIRONMENT/TYPE',
  ]);
});
