import Build from './commands/build.ts';
import Gc from './commands/gc.ts';
import ImagesLock from './commands/images-lock.ts';
import Publish from './commands/publish.ts';
import Render from './commands/render.ts';
import ReportsImport from './commands/reports-import.ts';
import RootAddAuthority from './commands/root-add-authority.ts';
import RootInit from './commands/root-init.ts';
import RootInspect from './commands/root-inspect.ts';
import Serve from './commands/serve.ts';
import SitesEnroll from './commands/sites-enroll.ts';
import SitesList from './commands/sites-list.ts';
import SitesRenew from './commands/sites-renew.ts';
import SitesRevoke from './commands/sites-revoke.ts';
import SitesSet from './commands/sites-set.ts';
import Status from './commands/status.ts';
import TokensCreate from './commands/tokens-create.ts';
import TokensList from './commands/tokens-list.ts';
import TokensRevoke from './commands/tokens-revoke.ts';
import Validate from './commands/validate.ts';

/** Every verb of fleet-scheduler, by its oclif id. */
export const COMMANDS = {
  build: Build,
  'images:lock': ImagesLock,
  gc: Gc,
  publish: Publish,
  render: Render,
  'reports:import': ReportsImport,
  'root:add-authority': RootAddAuthority,
  'root:init': RootInit,
  'root:inspect': RootInspect,
  serve: Serve,
  'sites:enroll': SitesEnroll,
  'sites:list': SitesList,
  'sites:renew': SitesRenew,
  'sites:revoke': SitesRevoke,
  'sites:set': SitesSet,
  status: Status,
  'tokens:create': TokensCreate,
  'tokens:list': TokensList,
  'tokens:revoke': TokensRevoke,
  validate: Validate,
};
