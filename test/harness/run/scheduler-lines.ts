/** Runs command lines of fleet-scheduler in one process, one after the other (kept-program.ts). */
import { COMMANDS } from '../../../scheduler/commands.ts';
import { PROGRAM } from '../../../scheduler/program.ts';
import { answerLines } from './answer-lines.ts';

answerLines({ ...PROGRAM, commands: COMMANDS });
