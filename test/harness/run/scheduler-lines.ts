/** Runs command lines of fleet-scheduler in one process, one after the other (kept-program.ts). */
import { COMMANDS } from '../../../scheduler/commands.ts';
import { PROGRAM } from '../../../scheduler/program.ts';
import { answerLines } from './answer-lines.ts';

await answerLines({ ...PROGRAM, commands: COMMANDS });
