/**
 * Sets lineNumber=8 and kills itself, as a power cut would. Usage: node crash-local-value.ts <folder> <where>: a table dies at the first write
 * to it in the transaction, a number right after the journal point of this index.
 */
import { join } from 'node:path';
import { setLocalValue } from '../../agent/apply/operator/set-local-value.ts';
import { acquireLock } from '../../agent/store/lock.ts';
import { openState } from '../../agent/store/state.ts';
import { NOW, testAgent } from './world.ts';

const [folder = '', where = ''] = process.argv.slice(2);
const die = (): number => {
  process.kill(process.pid, 'SIGKILL');
  return 0;
};

using state = openState(join(folder, 'state'));
using _lock = await acquireLock(state.directory, 'values set', NOW);
const at = Number(where);
if (Number.isNaN(at)) {
  state.db.function('die', { directOnly: false }, die);
  for (const change of ['INSERT', 'UPDATE', 'DELETE'])
    state.db.exec(
      `CREATE TEMP TRIGGER die_${change} AFTER ${change} ON main.${where} BEGIN SELECT die(); END`,
    );
}
let points = -1;
const onJournal = (): void => {
  points += 1;
  if (points === at) die();
};
const change = { name: 'lineNumber', value: 8, person: 'anna', reason: 'line 7 is being rebuilt' };
await setLocalValue(testAgent(state, folder, { onJournal }), change);
