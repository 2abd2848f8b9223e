/** Runs command lines of fleet-export in one process, one after the other (kept-program.ts). */
import { COMMANDS } from '../../../exporter/commands.ts';
import { PROGRAM } from '../../../exporter/program.ts';
import { answerLines } from './answer-lines.ts';

await answerLines({ ...PROGRAM, commands: COMMANDS });
