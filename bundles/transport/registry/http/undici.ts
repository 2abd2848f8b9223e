/**
 * The parts of undici that a program which moves blobs uses. undici's index evaluates all of it, fetch, caches and WebSocket
 * included: 13 MB and 60 ms.
 */
import api from 'undici/lib/api/index.js';
import newConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import Dispatcher from 'undici/lib/dispatcher/dispatcher.js';
import EnvHttpProxyAgent from 'undici/lib/dispatcher/env-http-proxy-agent.js';
import Pool from 'undici/lib/dispatcher/pool.js';

// undici's index also adds `dispatcher.connect(...)`, by which a proxy is asked for a tunnel, to the class.
Object.assign(Dispatcher.prototype, api);

export { Agent, EnvHttpProxyAgent, newConnector, Pool };
