"""Two nodes on one machine: two sets of network, host name, process and shared memory namespaces.

    two_nodes.py enter ..    what mpirun calls in the place of ssh

Node b lies within the process namespace of node a, of which the script that asks for nodes is the first process: however it ends, all
that it has started ends with it, and namespaces without processes are gone. Nothing has a name that two runs could share.
"""

import os
import shutil
import subprocess
import sys

NAMESPACES = ["--net", "--uts", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"]
INSIDE = "RETILE_TEST_NODE_A"
NODE_B = "RETILE_TEST_NODE_B"  # the process that has made it
CORES_B = "RETILE_TEST_CORES_B"  # where its cores are its own
MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root"]
OWN_SHM = "mount -t tmpfs tmpfs /dev/shm"


def unshared():
    """What puts a command into namespaces of its own."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, *NAMESPACES]


def why_not():
    """Why there are no namespaces here; nothing where there are."""
    if INSIDE in os.environ:
        return ""
    missing = [program for program in ("mpirun", "ip", "nsenter", "unshare") if shutil.which(program) is None]
    if missing:
        return "no " + ", ".join(missing)
    # The same things that are done for the nodes, so that what fails later is a fault.
    probe = subprocess.run([*unshared(), "sh", "-c", f"hostname retile-a && {OWN_SHM} && ip link add between type veth peer name beyond && "
                            "unshare " + " ".join(NAMESPACES) + " true"],
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


class Nodes:
    """Both nodes, for who is on node a. A context manager.

    own_cores  each node has half of the cores. Else processes of one take cores from the other, which no nodes do.
    """

    def __init__(self, own_cores=False):
        self.cores = halves_of_cores() if own_cores else None

    def __enter__(self):
        if self.cores:
            os.environ[CORES_B] = self.cores[1]
        self.node_b = subprocess.Popen([*unshared()[:1], *NAMESPACES, "sh", "-c", f"hostname retile-b && ip link set lo up && {OWN_SHM} && "
                                        "echo ready && exec cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.node_b.stdout.readline() != "ready\n":
            raise RuntimeError("node b was not made")
        pid = os.environ[NODE_B] = str(self.node_b.pid)
        for command in (["hostname", "retile-a"], OWN_SHM.split(), ["ip", "link", "set", "lo", "up"],
                        ["ip", "link", "add", "between", "type", "veth", "peer", "name", "between", "netns", pid],
                        ["ip", "addr", "add", "10.0.0.1/24", "dev", "between"], ["ip", "link", "set", "between", "up"],
                        ["nsenter", "--target=" + pid, "--net", "ip", "addr", "add", "10.0.0.2/24", "dev", "between"],
                        ["nsenter", "--target=" + pid, "--net", "ip", "link", "set", "between", "up"]):
            subprocess.run(command, check=True)
        return self

    def __exit__(self, *_):
        self.node_b.stdin.close()
        self.node_b.wait()
        self.node_b.stdout.close()

    def mpirun(self, on_a, on_b, *command):
        """The beginning of a command that runs so many processes on each node. Its files lie in each node's own /dev/shm."""
        hosts = ",".join(f"{host}:{count}" for host, count in (("retile-a", on_a), ("retile-b", on_b)) if count > 0)
        agent = f"{sys.executable} {os.path.abspath(__file__)} enter"
        where = ["taskset", "--cpu-list", self.cores[0], *MPIRUN, "--bind-to", "none"] if self.cores else MPIRUN
        return [*where, "--mca", "plm_rsh_agent", agent, "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "orte_tmpdir_base",
                "/dev/shm", "--mca", "btl_tcp_if_include", "between,lo" if on_b == 0 else "between", "--host", hosts, *command]


def enter(holder, *command):
    """Becomes the command on the node that process `holder` has made."""
    taskset = ["taskset", "--cpu-list", os.environ[CORES_B]] if CORES_B in os.environ else []
    nsenter = [*taskset, "nsenter", f"--target={holder}", "--net", "--uts", "--ipc", "--mount",
               f"--pid=/proc/{holder}/ns/pid_for_children", "sh", "-c", " ".join(command)]
    os.execvp(nsenter[0], nsenter)


if __name__ == "__main__":
    _, _, _, *ssh_command = sys.argv  # the name of the host is not needed: there is one other
    enter(os.environ[NODE_B], *ssh_command)
