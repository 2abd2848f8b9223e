/** Runs command lines of fleet-agent in one process, one after the other (kept-program.ts). */
import { COMMANDS } from '../../../agent/commands.ts';
import { PROGRAM } from '../../../agent/program.ts';
import { answerLines } from './answer-lines.ts';

await answerLines({ ...PROGRAM, commands: COMMANDS });
