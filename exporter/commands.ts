import Create from './commands/create.ts';
import Extract from './commands/extract.ts';
import Inspect from './commands/inspect.ts';
import Plan from './commands/plan.ts';
import Verify from './commands/verify.ts';

export const COMMANDS = {
  create: Create,
  plan: Plan,
  inspect: Inspect,
  verify: Verify,
  extract: Extract,
};
