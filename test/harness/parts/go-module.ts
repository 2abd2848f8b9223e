import { runOrFail } from '../run/run-command.ts';
import type { Machine } from './part.ts';

/** The folder with the sources of a Go module (`path@version`), downloaded where need be. Not to be written to. */
export const goModule = async (module: string, machine: Machine): Promise<string> => {
  const words = ['go', 'mod', 'download', '-json', module];
  // Anywhere but in a module of one's own: '-mod=mod' there would be about that one.
  const { stdout } = await runOrFail(words, { cwd: '/', env: machine.env, signal: machine.signal });
  return (JSON.parse(stdout) as { readonly Dir: string }).Dir;
};
