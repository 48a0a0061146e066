"""Nodes on one machine: each is a set of network, host name, process and shared memory namespaces.

    namespaces.py enter HOST ..    what mpirun calls in the place of ssh

The other nodes lie within the process namespace of node a, of which the script that asks for nodes is the first process: however it ends,
all that it has started ends with it, and namespaces without processes are gone. Nothing has a name that two runs could share.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys

NAMESPACES = ["--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
INSIDE = "RETILE_TEST_NODE_A"
HOLDERS = "RETILE_TEST_NODES_HELD"  # by host name: the process that has made the node
CORES_B = "RETILE_TEST_CORES_B"  # where its cores are its own
MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root"]
OWN_SHM = "mount -t tmpfs tmpfs /dev/shm"
DEVICE_LINK = "link"  # and the number of the device: the interface that it alone has


def unshared():
    """What puts a command into namespaces of its own."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, *NAMESPACES]


def why_not(more=""):
    """Why there are no namespaces here; nothing where there are.

    more  a command that has to be possible, too
    """
    if INSIDE in os.environ:
        return ""
    missing = [program for program in ("mpirun", "ip", "nsenter", "unshare") if shutil.which(program) is None]
    if missing:
        return "no " + ", ".join(missing)
    # The same things that are done for the nodes, so that what fails later is a fault.
    probe = subprocess.run([*unshared(), "sh", "-c", f"hostname retile-a && {OWN_SHM} && ip link add between type veth peer name beyond && "
                            "unshare " + " ".join(NAMESPACES) + f" true {more and '&&'} {more}"],
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False)
    return "" if probe.returncode == 0 else "namespaces are not permitted here: " + probe.stdout.strip()


def go_inside(*command):
    """Becomes the command on node a, where it is not there yet."""
    if INSIDE in os.environ:
        return
    os.environ[INSIDE] = "1"
    os.execvp("unshare", [*unshared(), sys.executable, *command])


def halves_of_cores():
    """The cores of each node as `taskset --cpu-list` takes them; nothing where there is one only."""
    cores = sorted(os.sched_getaffinity(0))
    half = len(cores) // 2
    return [",".join(map(str, part)) for part in (cores[:half], cores[half:])] if half > 0 else None


def on(holder, command):
    """Runs a command, which is split as a shell does, in the network of a node."""
    subprocess.run(["nsenter", f"--target={holder}", "--net", *shlex.split(command)], check=True)


class Nodes:
    """The nodes, for who is on node a. A context manager.

    count      how many; with more than two, messages between others pass through a bridge on node a
    own_cores  each of two nodes has half of the cores. Else processes of one take cores from the other, which no nodes do.
    """

    def __init__(self, count=2, own_cores=False):
        self.cores = halves_of_cores() if own_cores else None
        self.hosts = [f"retile-{chr(ord('a') + node)}" for node in range(count)]

    def __enter__(self):
        if self.cores:
            os.environ[CORES_B] = self.cores[1]
        first, *others = self.hosts
        self.holders = {first: os.getpid()}
        self.others = []
        for command in (f"hostname {first}", OWN_SHM, "ip link set lo up"):
            subprocess.run(command.split(), check=True)
        if len(others) > 1:
            on(os.getpid(), "ip link add between type bridge")
        for host in others:
            self.make(host, bridged=len(others) > 1)
        for number, holder in enumerate(self.holders.values()):
            on(holder, f"ip addr add 10.0.0.{number + 1}/24 dev between")
            on(holder, "ip link set between up")
        os.environ[HOLDERS] = json.dumps(self.holders)
        return self

    def make(self, host, bridged):
        node = subprocess.Popen([*unshared()[:1], *NAMESPACES, "sh", "-c", f"hostname {host} && ip link set lo up && {OWN_SHM} && "
                                 "echo ready && exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.others.append(node)
        if node.stdout.readline() != "ready\n":
            raise RuntimeError(f"node {host} was not made")
        self.holders[host] = node.pid
        near = f"to{len(self.others)}" if bridged else "between"
        on(os.getpid(), f"ip link add {near} type veth peer name between netns {node.pid}")
        if bridged:
            on(os.getpid(), f"ip link set {near} master between up")

    def __exit__(self, *_):
        for node in self.others:
            node.stdin.close()
            node.wait()
            node.stdout.close()

    def mpirun(self, counts, *command):
        """The beginning of a command that runs so many processes on each node. Its files lie in each node's own /dev/shm."""
        hosts = ",".join(f"{host}:{count}" for host, count in zip(self.hosts, counts, strict=True) if count > 0)
        agent = f"{sys.executable} {os.path.abspath(__file__)} enter"
        where = ["taskset", "--cpu-list", self.cores[0], *MPIRUN, "--bind-to", "none"] if self.cores else MPIRUN
        alone = not any(counts[1:])
        return [*where, "--mca", "plm_rsh_agent", agent, "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "orte_tmpdir_base",
                "/dev/shm", "--mca", "btl_tcp_if_include", "between,lo" if alone else "between", "--host", hosts, *command]


class ShapedNodes(Nodes):
    """Nodes whose devices, the processes of a run, each have a link of their own to all other nodes, and shared memory inside.

    program            bench/links, which holds the links
    per_node           processes on each node
    bytes_per_second   of each direction of a device's link
    microseconds       that a byte takes besides
    before_others      processes run before whatever else runs on the machine
    """

    def __init__(self, program, count, per_node, bytes_per_second, microseconds, before_others=True):
        super().__init__(count)
        self.per_node = per_node
        self.before_others = before_others
        self.command = [program, str(bytes_per_second), str(microseconds)]

    def __enter__(self):
        super().__enter__()
        places = [(holder, device) for node, holder in enumerate(self.holders.values())
                  for device in range(node * self.per_node, (node + 1) * self.per_node)]
        self.links = subprocess.Popen([*self.command, *(f"{holder}:10.1.0.{device + 1}" for holder, device in places)],
                                      stdout=subprocess.PIPE, text=True)
        if self.links.stdout.readline() != "ready\n":
            raise RuntimeError("there are no links")
        for holder, device in places:
            link, table = f"{DEVICE_LINK}{device}", 100 + device
            for command in (f"ip addr add 10.1.0.{device + 1}/24 dev {link}", f"ip link set {link} mtu 9000 txqueuelen 10000 up",
                            f"ip rule add from 10.1.0.{device + 1} lookup {table}", f"ip route add 10.1.0.0/24 dev {link} table {table}",
                            # What is under way at a time is little beside a message, so that links and not the buffers before them make
                            # it wait; and a link that was idle is as fast as before.
                            f"sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.{link}.rp_filter=0 net.ipv4.tcp_slow_start_after_idle=0 "
                            "'net.ipv4.tcp_wmem=4096 65536 131072' 'net.ipv4.tcp_rmem=4096 131072 1048576'"):
                on(holder, command)
        return self

    def __exit__(self, *exception):
        self.links.kill()
        self.links.wait()
        self.links.stdout.close()
        super().__exit__(*exception)

    def mpirun(self, *command):
        """The beginning of a command whose processes are the devices, in order."""
        # Open MPI's other way of large messages, for which TCP has no hardware, often sends in one direction at a time.
        options = ["--bind-to", "none", "--mca", "btl_tcp_flags", "send", "--mca", "oob_tcp_if_include", "between", "--mca", "mpi_yield_when_idle", "1"]
        own_link = f'OMPI_MCA_btl_tcp_if_include={DEVICE_LINK}$OMPI_COMM_WORLD_RANK exec "$@"'
        # In turns among themselves and before whatever else runs: with more processes than cores a yield gives way to another of them only so.
        turns = ["chrt", "--rr", "1"] if self.before_others and os.geteuid() == 0 and shutil.which("chrt") else []
        start = super().mpirun([self.per_node] * len(self.hosts))
        unlinked = start.index("btl_tcp_if_include") - 1
        return [*start[:unlinked], *start[unlinked + 3:], *options, "sh", "-c", own_link, "sh", *turns, *command]


def enter(host, *command):
    """Becomes the command on a node."""
    holder = json.loads(os.environ[HOLDERS])[host]
    taskset = ["taskset", "--cpu-list", os.environ[CORES_B]] if CORES_B in os.environ else []
    nsenter = [*taskset, "nsenter", f"--target={holder}", "--net", "--uts", "--ipc", "--mount",
               f"--pid=/proc/{holder}/ns/pid_for_children", "sh", "-c", " ".join(command)]
    os.execvp(nsenter[0], nsenter)


if __name__ == "__main__":
    enter(*sys.argv[2:])
