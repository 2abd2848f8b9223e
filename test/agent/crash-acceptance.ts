/**
 * Imports a medium and kills itself, as a power cut would, in the middle of the accepting transaction: at the first write
 * to a table. Usage: node crash-acceptance.ts <folder> <medium> <table>; 'committed' is right after the commit.
 */
import { join } from 'node:path';
import { importMedium } from '../../agent/daemon/import-medium.ts';
import { acquireLock } from '../../agent/store/lock.ts';
import { openState } from '../../agent/store/state.ts';
import { NOW, testAgent } from './world.ts';

const [folder = '', medium = '', where = ''] = process.argv.slice(2);
const die = (): number => {
  process.kill(process.pid, 'SIGKILL');
  return 0;
};

using state = openState(join(folder, 'state'));
using _lock = await acquireLock(state.directory, 'import', NOW);
if (where !== 'committed') {
  state.db.function('die', { directOnly: false }, die);
  for (const change of ['INSERT', 'UPDATE', 'DELETE']) {
    state.db.exec(
      `CREATE TEMP TRIGGER die_${change} AFTER ${change} ON main.${where} BEGIN SELECT die(); END`,
    );
  }
}
const onJournal = (point: string): void => {
  if (where === 'committed' && point === 'accepted') die();
};
await importMedium(testAgent(state, folder, { onJournal }), medium);
