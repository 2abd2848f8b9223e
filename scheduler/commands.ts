import Build from './commands/build.ts';
import Render from './commands/render.ts';
import ReportsImport from './commands/reports-import.ts';
import RootInit from './commands/root-init.ts';
import RootInspect from './commands/root-inspect.ts';
import SitesEnroll from './commands/sites-enroll.ts';
import SitesList from './commands/sites-list.ts';
import SitesRenew from './commands/sites-renew.ts';
import SitesRevoke from './commands/sites-revoke.ts';
import SitesSet from './commands/sites-set.ts';
import Status from './commands/status.ts';
import Validate from './commands/validate.ts';

/** Every verb of fleet-scheduler, by its oclif id. */
export const COMMANDS = {
  build: Build,
  render: Render,
  'reports:import': ReportsImport,
  'root:init': RootInit,
  'root:inspect': RootInspect,
  'sites:enroll': SitesEnroll,
  'sites:list': SitesList,
  'sites:renew': SitesRenew,
  'sites:revoke': SitesRevoke,
  'sites:set': SitesSet,
  status: Status,
  validate: Validate,
};
