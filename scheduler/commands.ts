import Build from './commands/build.ts';
import Render from './commands/render.ts';
import Validate from './commands/validate.ts';

/** Every verb of fleet-scheduler, by its oclif id. */
export const COMMANDS = {
  build: Build,
  render: Render,
  validate: Validate,
};
